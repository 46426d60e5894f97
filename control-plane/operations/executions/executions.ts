/** Use cases on executions. Each one authorises before it reports or changes anything. */
import { SECRET_REFERENCE } from '../../../shared/variables.ts';
import {
  type Account,
  type Actor,
  authorise,
  authoriseOwned,
  type ExpectedActor,
  type User,
} from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { isEnded } from '../../core/model/execution.ts';
import type { Made } from '../../core/model/idempotency.ts';
import { type ExecutionFilter, isOwner, type Position } from '../../core/views/execution-filter.ts';
import {
  type Endpoint,
  type ExecutionLine,
  type ExecutionView,
  endpointsOf,
} from '../../core/views/execution-views.ts';
import { type Explanation, explainEnd } from '../../core/views/explanation.ts';
import { findSecretUse } from '../../store/executions/assigned-service.ts';
import {
  type Counts,
  countAll,
  countExecutions,
  findSearchEnd,
  listExecutionLines,
} from '../../store/executions/execution-lines.ts';
import { findState, listExecutions as readExecutions } from '../../store/executions/executions.ts';
import { appAddresses } from '../app-addresses.ts';
import { attempted } from '../audit.ts';
import type { Context, ReadKey } from '../context.ts';
import { findSecretProblem } from '../secrets/start-secrets.ts';
import { getServices } from './reads.ts';
import type { SubmissionInput } from './submission-input.ts';
import { waitingReasons } from './waiting.ts';

/** Parses the body. Called after authorisation, so that a caller without permission costs no work. */
export type ReadSubmission = () => Promise<SubmissionInput>;

/**
 * What happens to a submission that exceeds the user's quota: it is queued until the quota has capacity, or
 * refused as `conflict`.
 */
export type OverQuota = 'queue' | 'refuse';

/** Queues an application. Resolves to its execution once that is durable. */
export const submitExecution = (
  context: Context,
  actor: Actor | ExpectedActor,
  input: ReadSubmission,
  overQuota: OverQuota,
  readKey?: ReadKey,
): Promise<Made> =>
  attempted(context, actor, { action: 'submit-execution' }, async () => {
    const caller = authorise(actor, { kind: 'submit-execution' });
    const submission = { userId: caller.user.id, ...(await input()), withinQuota: overQuota === 'refuse' };
    await checkSecrets(context, submission);
    return context.coordinator.submit(submission, caller, readKey?.());
  });

/** Explains what would happen to an application if it were submitted now. Nothing is queued. */
export async function explainApplication(
  context: Context,
  actor: Actor,
  input: ReadSubmission,
): Promise<Explanation> {
  const { user } = authorise(actor, { kind: 'submit-execution' });
  const submission = { userId: user.id, ...(await input()) };
  await checkSecrets(context, submission);
  return context.coordinator.explainSubmission(submission);
}

/** Throws `invalid` if the description refers to a secret that is missing. Most need no query. */
async function checkSecrets(
  context: Context,
  { userId, application, description }: SubmissionInput & { userId: number },
): Promise<void> {
  if (!description.includes(SECRET_REFERENCE) && !description.includes('"files"')) return;
  const problem = await findSecretProblem(context, userId, application);
  if (problem !== undefined) throw new OperationError('invalid', problem);
}

/** Explains the state of an execution; for an ended one, why it ended. */
export async function explainExecution(context: Context, actor: Actor, id: number): Promise<Explanation> {
  const account = authorise(actor, { kind: 'list-executions' });
  const { user, role } = account;
  const readers = role.canOperateOthers ? null : user.id;
  // What these read may be long, and a user may request many at a time.
  const [found, explained, use] = await context.shares.run(user.id, () =>
    Promise.allSettled([
      findState(context.db, id),
      context.coordinator.explain(id, account),
      findSecretUse(context.db, id, readers),
    ]),
  );
  if (found.status === 'rejected') throw found.reason;
  const state = found.value;
  authoriseOwned(actor, 'read-execution', state?.userId);
  if (explained.status === 'rejected') throw explained.reason;
  if (explained.value) return withSecretProblem(context, explained.value, use);
  const ended = state && isEnded(state) ? state : await findState(context.db, id);
  if (!ended || !isEnded(ended))
    throw new OperationError('unavailable', 'The execution is changing; try again.');
  return explainEnd(ended);
}

/** Adds that a secret is missing which the start will need, and would fail without. */
async function withSecretProblem(
  context: Context,
  explanation: Explanation,
  use: PromiseSettledResult<{ userId: number; description: string } | undefined>,
): Promise<Explanation> {
  if (use.status === 'rejected') throw use.reason;
  if (explanation.status !== 'queued' || use.value === undefined) return explanation;
  const { userId, description } = use.value;
  const problem = await findSecretProblem(context, userId, JSON.parse(description));
  return problem === undefined
    ? explanation
    : { ...explanation, waitingFor: [...explanation.waitingFor, `Its start would fail. ${problem}`] };
}

/**
 * Pages of the executions that pass the filter, oldest first: those of the user who asks, or all if the role
 * operates others.
 */
export function listExecutions(
  context: Context,
  actor: Actor,
  filter: ExecutionFilter = {},
): { user: User; pages: AsyncGenerator<ExecutionView[]> } {
  const account = authorise(actor, { kind: 'list-executions' });
  return { user: account.user, pages: readExecutions(context.db, visibleTo(account, filter)) };
}

/** One page of the list, newest first. */
export interface ExecutionPage {
  lines: ExecutionLine[];
  /** Whether there are older executions. */
  hasMore: boolean;
  /**
   * Executions that pass the filter, whatever their status; only those up to `searchEnd`, if that is set.
   * Undefined if these would be others than the ones that the lines are from (H393).
   */
  counts: Counts | undefined;
  /** What the queued ones of the lines wait for, by id, as far as the coordinator states it. */
  waitingFor: ReadonlyMap<number, readonly string[]>;
  /** The last execution that was searched for a part of a name, if there may be older matches (H393). */
  searchEnd?: Position | undefined;
}

/**
 * Like `listExecutions`, but with what queued executions wait for, without descriptions, and at most `size`
 * executions.
 */
export async function pageExecutions(
  context: Context,
  actor: Actor,
  filter: ExecutionFilter,
  size: number,
): Promise<ExecutionPage> {
  const visible = visibleTo(authorise(actor, { kind: 'list-executions' }), filter);
  const { db } = context;
  const { status, olderThan, ...all } = visible;
  const isFirst = status === undefined && olderThan === undefined;
  const [lines, counts, searchEnd] = await Promise.all([
    listExecutionLines(db, { ...visible, limit: size + 1 }),
    isFirst ? countExecutions(db, all) : countAll(db, all),
    visible.nameContains === undefined ? undefined : findSearchEnd(db, visible),
  ]);
  const shown = lines.slice(0, size);
  const waitingFor = await waitingReasons(context, shown);
  return { lines: shown, hasMore: lines.length > size, counts, waitingFor, searchEnd };
}

/** The next executions of the list, without counts. */
export async function findExecutions(
  { db }: Context,
  actor: Actor,
  filter: ExecutionFilter,
  size: number,
): Promise<Pick<ExecutionPage, 'lines' | 'searchEnd'>> {
  const visible = visibleTo(authorise(actor, { kind: 'list-executions' }), filter);
  const [lines, searchEnd] = await Promise.all([
    listExecutionLines(db, { ...visible, limit: size }),
    visible.nameContains === undefined ? undefined : findSearchEnd(db, visible),
  ]);
  return { lines, searchEnd };
}

/** Restricts the filter to what the account may read. */
function visibleTo({ user, role }: Account, filter: ExecutionFilter): ExecutionFilter {
  if (role.canOperateOthers) return filter;
  if (filter.owner !== undefined && !isOwner(filter.owner, user)) {
    throw new OperationError(
      'forbidden',
      `The role ${role.name} lacks "Operate others' executions" (can_operate_others).`,
    );
  }
  return { ...filter, owner: { id: user.id } };
}

/** The coordinator authorises it, as the owner or by the role. Here, only users that may use the API pass. */
export const terminateExecution = (
  context: Context,
  actor: Actor | ExpectedActor,
  id: number,
): Promise<void> =>
  attempted(context, actor, { action: 'terminate-execution', targetId: id }, async () =>
    context.coordinator.terminate(id, authorise(actor, { kind: 'list-executions' })),
  );

/** Authorised as `terminateExecution`. Null removes the limit. */
export const changeTimeLimit = (
  context: Context,
  actor: Actor,
  id: number,
  input: () => Promise<number | null>,
): Promise<void> =>
  attempted(context, actor, { action: 'limit-execution', targetId: id }, async () => {
    const caller = authorise(actor, { kind: 'list-executions' });
    await context.coordinator.limitTime(id, await input(), caller);
  });

/** Authorised as `terminateExecution`. */
export const deleteExecution = (context: Context, actor: Actor | ExpectedActor, id: number): Promise<void> =>
  attempted(context, actor, { action: 'delete-execution', targetId: id }, async () =>
    context.coordinator.remove(id, authorise(actor, { kind: 'list-executions' })),
  );

/** Where users reach the ports of the execution now. */
export async function listEndpoints(context: Context, actor: Actor, id: number): Promise<Endpoint[]> {
  const services = await getServices(context, actor, id);
  return endpointsOf(services, await appAddresses(context));
}
