/** Owns the differences between the release groups of the API (api-spec: Group A, Group B). No other file asks for the group. */
import type { Account } from '../core/account.ts';
import type { ExecutionStatus } from '../core/execution.ts';
import type { Owner } from '../core/execution-filter.ts';
import type { ExecutionView } from '../core/views.ts';
import type { TokenRules } from '../operations/tokens.ts';
import { userJson } from './account-json.ts';

export interface Variant {
  /** Word for an execution that waits in the queue. */
  statusOf(status: ExecutionStatus): string;
  userIdOf(execution: ExecutionView): number | string;
  /** The user that a user_id of this group means; undefined where it can't be one. */
  ownerOf(userId: string): Owner | undefined;
  loginResult(account: Account): unknown;
  /** Whether an error's text also goes into the Status header and the reason phrase. */
  statusHeader: boolean;
  /** Whether users, roles and quotas have endpoints. */
  accounts: boolean;
  /** Whether executions have endpoints: `on` can be switched off. */
  endpoints: 'always' | 'on' | 'off';
  /** Null where the group has no tokens. */
  tokens: TokenVariant | null;
}

export interface TokenVariant extends TokenRules {
  /** The answer that confirms a revocation. */
  revokedResult(text: string): unknown;
}

const HOUR_MS = 60 * 60_000;

const groupA: Variant = {
  statusOf: (status) => (status === 'queued' ? 'scheduled' : status),
  userIdOf: ({ userName }) => userName,
  ownerOf: (userId) => (userId === '' ? undefined : { username: userId }),
  loginResult: ({ user, role }) => ({ role: role.name, uid: user.username }),
  statusHeader: false,
  accounts: false,
  endpoints: 'on',
  tokens: {
    accessMs: HOUR_MS,
    refreshMs: 30 * 24 * HOUR_MS,
    most: 100,
    revokedResult: (text) => ({ ret: text }),
  },
};

const groupB: Variant = {
  statusOf: (status) => status,
  userIdOf: ({ userId }) => userId,
  ownerOf: (userId) => (/^\d{1,15}$/.test(userId) ? { id: Number(userId) } : undefined),
  loginResult: ({ user }) => ({ user: userJson(user) }),
  statusHeader: true,
  accounts: true,
  endpoints: 'always',
  tokens: null,
};

export const variants = { A: groupA, B: groupB } as const;

/** The variant of that name, without endpoints of executions where they are not wanted and need not be there. */
export function chooseVariant(name: keyof typeof variants, endpoints: 'on' | 'off'): Variant {
  const variant: Variant = variants[name];
  return variant.endpoints === 'on' ? { ...variant, endpoints } : variant;
}
