/** Owns what may differ between the releases of the API, and which releases there are. No other file asks for the release. */
import type { Account, Actor } from '../core/accounts/account.ts';
import type { ExecutionStatus } from '../core/model/execution.ts';
import type { Owner } from '../core/views/execution-filter.ts';
import type { ExecutionView, ServiceView } from '../core/views/execution-views.ts';
import type { TokenRules } from '../operations/accounts/tokens.ts';
import type { Context } from '../operations/context.ts';
import type { OverQuota } from '../operations/executions/executions.ts';
import type { Group } from './json/schemas.ts';
import type { quotas } from './resources/quotas.ts';
import type { roles } from './resources/roles.ts';
import type { users } from './resources/users.ts';
import { groupA } from './variants/group-a.ts';
import { groupB } from './variants/group-b.ts';
import { zoe2017, zoe2018 } from './variants/zoe.ts';

export type Variant = Words & Statuses & Answers & Routes;

/** What the variant calls things. */
export interface Words {
  /** Word for an execution that waits in the queue. */
  statusOf(status: ExecutionStatus): string;
  userIdOf(execution: Pick<ExecutionView, 'userId' | 'userName'>): number | string;
  /** The user that a user_id of this variant means; undefined where it can't be one. */
  ownerOf(userId: string): Owner | undefined;
}

/** How the variant tells success and failure. */
export interface Statuses {
  /** Of a POST that made or changed something. */
  created: 200 | 201;
  /** Of a DELETE. */
  removed: 200 | 204;
  /** Where the caller is known and may not do it. */
  forbidden: 401 | 403;
  /** Whether an error's text also goes into the Status header and the reason phrase. */
  statusHeader: boolean;
  /** Whether an error has a body. */
  errorBody: boolean;
}

/** JSON text and values of what the variant answers. */
export interface Answers {
  loginResult(account: Account): unknown;
  executionText(execution: ExecutionView): string;
  serviceJson(service: ServiceView): unknown;
  endpointsJson(endpoints: readonly Endpoint[]): unknown;
  /** Of a valid description. */
  validated: unknown;
  statistics(context: Context): Promise<unknown>;
  /** Output of a service, live, from its first byte; ends when no more will come. */
  openLog(context: Context, actor: Actor, serviceId: number): Promise<ReadableStream<Uint8Array>>;
}

/** What the variant has endpoints for, and what goes into them. */
export interface Routes {
  validatePath: string;
  /** Whether it tells why executions wait. */
  explains: boolean;
  /** Whether it tells what changes. */
  events: boolean;
  /** Users, roles and quotas, in the variant's forms; undefined where they have no endpoints. */
  accounts: Accounts | undefined;
  /** Whether executions have endpoints: `on` can be switched off. */
  endpoints: 'always' | 'on' | 'off';
  /** Null where the variant has no tokens. */
  tokens: TokenVariant | null;
  /** What becomes of a submission that the user's quota has no room for. */
  overQuota: OverQuota;
  /** The group whose document describes it (`/openapi.json`); undefined where it speaks another API. */
  documentedAs: Group | undefined;
}

export interface Accounts {
  users: typeof users;
  roles: typeof roles;
  quotas: typeof quotas;
}

export interface TokenVariant extends TokenRules {
  /** The answer that confirms a revocation. */
  revokedResult(text: string): unknown;
}

type Endpoint = [name: string, url: string];

/** By the value of the setting BERTH_API_VARIANT. */
export const variants = { A: groupA, B: groupB, 'zoe-2018.12': zoe2018, 'zoe-2017.12': zoe2017 } as const;

/** The variant of that name, without endpoints of executions where they are not wanted and need not be there. */
export function chooseVariant(name: keyof typeof variants, endpoints: 'on' | 'off'): Variant {
  const variant: Variant = variants[name];
  return variant.endpoints === 'on' ? { ...variant, endpoints } : variant;
}
