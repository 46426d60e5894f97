/** Variant of the API: everything that differs between releases. Types only; variants/ has the variants. */
import type { ContainerExtras } from '../../shared/expand.ts';
import type { Quota, Role, User } from '../core/accounts/account.ts';
import type {
  NameFilter,
  NewQuota,
  NewRole,
  NewUser,
  QuotaChanges,
  RoleChanges,
  UserChanges,
  UserFilter,
} from '../core/accounts/account-input.ts';
import type { BuiltInRoles } from '../operations/accounts/generated-passwords.ts';
import type { TokenRules } from '../operations/accounts/tokens.ts';
import type { OverQuota } from '../operations/executions/executions.ts';
import type { Resource } from './accounts/resource.ts';
import type { Route } from './api/route.ts';
import type { Group } from './json/schemas.ts';
import type { Answers, Statuses, Words } from './words.ts';

export type Variant = Words & Statuses & Answers & Routes;

/** The endpoints of the variant, and what they accept. */
export interface Routes {
  /** Turns Berth's routes into those of another platform's API. */
  adapt?: (own: readonly Route[]) => Route[];
  /** How long sessions admit to executions, services and logs, if longer than to the rest (H169). */
  workSessionMs?: number;
  /** How built-in roles differ in a new database, by their names. */
  builtInRoles?: BuiltInRoles;
  /** `gid`: BERTH_ZOE_GID. */
  containerExtrasOf?: (gid: number) => ContainerExtras;
  validatePath: string;
  /** Whether this is Berth's own path, with what only its own programs need (native.ts). */
  isNative?: boolean;
  /** Users, roles and quotas in the variant's forms; undefined if they have no endpoints. */
  accounts: Accounts | undefined;
  /** Null if the variant has no tokens. */
  tokens: TokenRules | null;
  /** What happens to a submission that exceeds the user's quota. */
  overQuota: OverQuota;
  /** The group whose `/openapi.json` describes the variant; undefined for another platform's API. */
  documentedAs: Group | undefined;
}

export interface Accounts {
  users: Resource<User, NewUser, UserChanges, UserFilter>;
  roles: Resource<Role, NewRole, RoleChanges, NameFilter>;
  quotas: Resource<Quota, NewQuota, QuotaChanges, NameFilter>;
}
