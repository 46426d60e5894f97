/** Input types for users, roles and quotas: what a creation, a change or a list filter may contain. Pure. */
import type { UserKey } from '../model/idempotency.ts';
import type { TimeLimits } from '../model/time-limit.ts';
import type { Quota, Role, User } from './account.ts';
import type { AuditEntry } from './audit.ts';
import type { StoredPersonalToken } from './personal-token.ts';
import type { CredentialsPlace } from './registry-credentials.ts';
import type { NewSecret, SecretTerms } from './secret.ts';
import type { Identity } from './sign-on.ts';

/** Every field may be absent; undefined means unchanged in a change, and any value in a filter. */
type Optional<T> = { [Key in keyof T]?: T[Key] | undefined };

type UserFields = Omit<User, 'id' | 'credentialVersion' | 'workspace'>;

/**
 * Without `fsUid` the coordinator assigns the next free one. The API creates users without a password, and an
 * update sets it.
 */
export type NewUser = Omit<UserFields, 'fsUid'> & {
  fsUid?: number | undefined;
  password?: string | undefined;
  /** Who the user is at the provider of the sign-on. */
  subject?: string | undefined;
  /** The provider that the subject is meant for, for a check. */
  issuer?: string | undefined;
};
export type StoredNewUser = Omit<NewUser, 'password' | 'subject' | 'issuer'> & {
  passwordHash?: string | undefined;
  identity?: Identity | undefined;
};
/** `currentPassword` proves who asks for a new password of their own. A null `subject` unlinks the user. */
export type UserChanges = Optional<
  UserFields & { password: string; currentPassword: string; subject: string | null; issuer: string }
>;
export type StoredUserChanges = Optional<UserFields> & {
  /** The name as a directory compares it, if the name or the source changes. */
  foldedName?: string | undefined;
  passwordHash?: string | undefined;
  /** A new identity takes the password away. Null: the user has none any more. */
  identity?: Identity | null | undefined;
};
export type UserFilter = Optional<Omit<UserFields, 'fsUid'>>;

export type NewRole = Omit<Role, 'id'>;
export type RoleChanges = Optional<NewRole>;

/** Without time limits it has none. */
export type NewQuota = Omit<Quota, 'id' | keyof TimeLimits> & Optional<TimeLimits>;
export type QuotaChanges = Optional<NewQuota>;

/** A join token as it is stored. */
export interface StoredJoinToken {
  hash: string;
  /** The only host name that the token admits; null: any name. */
  name: string | null;
  labels: readonly string[];
  expiresMs: number;
}

/**
 * A change that the coordinator makes: of users, quotas and credentials, of which it has something in memory,
 * or of what a request makes under an idempotency key. A new password is present as its hash only.
 */
export type AccountChange =
  | { kind: 'create-user'; user: StoredNewUser }
  | { kind: 'update-user'; id: number; changes: StoredUserChanges }
  | { kind: 'delete-user'; id: number }
  | { kind: 'create-role'; role: NewRole }
  | { kind: 'create-join-token'; token: StoredJoinToken; nowMs: number }
  | { kind: 'create-personal-token'; token: StoredPersonalToken; maxPerUser: number }
  | { kind: 'create-quota'; quota: NewQuota }
  | { kind: 'update-quota'; id: number; changes: QuotaChanges }
  /** `moves`: its users get the default one where that allows them nothing more (H172). */
  | { kind: 'delete-quota'; id: number; moves?: boolean }
  | { kind: 'delete-role'; id: number; moves: true }
  | { kind: 'set-credentials'; credentials: NewSecret; terms: SecretTerms }
  | { kind: 'remove-credentials'; id: number; place: CredentialsPlace };

/** Whether the change may let something start, or keep it from starting. */
export const concernsQueue = (change: AccountChange): boolean =>
  change.kind === 'update-quota' ||
  change.kind === 'delete-quota' ||
  (change.kind === 'update-user' && change.changes.quotaId !== undefined);

/** Outcome of a write that the data may refuse. */
export type WriteOutcome =
  /** `isRepeat`: an earlier request with the same idempotency key has made it. */
  | { done: true; id: number; isRepeat?: true }
  | { done: false; why: 'taken' | 'refers-to-nothing' | 'refused' };

/** A change that the commit of a turn makes, with what is recorded of it. */
export interface RequestedChange {
  change: AccountChange;
  /** The key under which something is created. */
  key?: UserKey | undefined;
  entry?: AuditEntry | undefined;
  timeMs: number;
  /** Called after the commit, once the state has the change. */
  settled(outcome: WriteOutcome): void;
}

export type NameFilter = Optional<{ name: string }>;

/** Names of the fields that are not undefined. */
export const givenFields = (changes: object): string[] =>
  Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [name]));
