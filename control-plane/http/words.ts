/** Words, statuses and answers: the parts of a variant of the API that its handlers use. */
import type { Account } from '../core/accounts/account.ts';
import type { AppAddresses } from '../core/apps/app-address.ts';
import type { OperationError } from '../core/model/errors.ts';
import type { ExecutionStatus } from '../core/model/execution.ts';
import type { Owner } from '../core/views/execution-filter.ts';
import type { ExecutionView, ServiceView } from '../core/views/execution-views.ts';
import type { ListedExecution } from '../operations/executions/waiting.ts';

export interface Words {
  /** The word for a status; variants differ in the one of a queued execution. */
  statusOf(status: ExecutionStatus): string;
  userIdOf(execution: Pick<ExecutionView, 'userId' | 'userName'>): number | string;
  /** The user that a user_id of this variant names; undefined if the text cannot be a user_id. */
  ownerOf(userId: string): Owner | undefined;
}

export interface Statuses {
  /** The answer to a POST that created or changed something. */
  created: 200 | 201;
  /** The answer to a DELETE. */
  removed: 200 | 204;
  /** The answer to an authenticated caller whose role does not allow the request. */
  forbidden: 401 | 403;
  /** The error that clients of this variant get in place of one of Berth's. */
  errorFor?: (error: OperationError) => OperationError;
  /** The answer to OPTIONS. */
  options: 200 | 204;
  /** Whether the text of an error is also sent as Status header and reason phrase. */
  statusHeader: boolean;
  /** Whether an error has a body. */
  errorBody: boolean;
}

/** The JSON text and values of the variant's answers, which are made at `nowMs`. */
export interface Answers {
  loginResult(account: Account): unknown;
  executionText(execution: ListedExecution, nowMs: number): string;
  serviceJson(service: ServiceView, apps: AppAddresses, nowMs: number): unknown;
}
