/** Owns what may be said about users, roles and quotas when they are made, changed or looked for. Pure. */
import type { Quota, Role, User } from './account.ts';

/** Fields that may be left out; undefined means unchanged, or any. */
type Optional<T> = { [Key in keyof T]?: T[Key] | undefined };

type UserFields = Omit<User, 'id' | 'credentialVersion'>;

/** Without an `fsUid` the next free one is given. By the API there is no password: an update sets it. */
export type NewUser = Omit<UserFields, 'fsUid'> & {
  fsUid?: number | undefined;
  password?: string | undefined;
};
export type StoredNewUser = Omit<NewUser, 'password'> & { passwordHash?: string | undefined };
export type UserChanges = Optional<UserFields & { password: string }>;
export type StoredUserChanges = Omit<UserChanges, 'password'> & { passwordHash?: string | undefined };
export type UserFilter = Optional<Omit<UserFields, 'fsUid'>>;

export type NewRole = Omit<Role, 'id'>;
export type RoleChanges = Optional<NewRole>;

export type NewQuota = Omit<Quota, 'id'>;
export type QuotaChanges = Optional<NewQuota>;

/** A change of what the coordinator knows of users and quotas. Of a new password it has the hash. */
export type AccountChange =
  | { kind: 'create-user'; user: StoredNewUser }
  | { kind: 'update-user'; id: number; changes: StoredUserChanges }
  | { kind: 'delete-user'; id: number }
  | { kind: 'create-quota'; quota: NewQuota }
  | { kind: 'update-quota'; id: number; changes: QuotaChanges }
  | { kind: 'delete-quota'; id: number };

export type NameFilter = Optional<{ name: string }>;

/** Names of the fields that are given. */
export const givenFields = (changes: object): string[] =>
  Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [name]));
