/**
 * Permissions: users, roles and actors, and `authorise`, the only function that decides what an actor may do.
 * Pure.
 */
import { OperationError } from '../model/errors.ts';
import { listText } from '../model/text.ts';
import type { TimeLimits } from '../model/time-limit.ts';
import { type Action, type Scope, scopeForOthers, scopeOf, work } from './action.ts';
import type { RoleFlags } from './role-flags.ts';

export type { Action, Scope } from './action.ts';

export interface Role extends RoleFlags {
  id: number;
  name: string;
}

/**
 * The role of administrators. It can't be changed or deleted (H97), so that an administrator can always
 * repair the configuration.
 */
export const ADMIN_ROLE = 'admin';

/** What users get whose role was deleted, where that moves them (H172). */
export const DEFAULT_ROLE = 'user';
export const DEFAULT_QUOTA = 'default';

/** The source of users whose password Berth stores. */
export const INTERNAL_SOURCE = 'internal';
/** The source of users whose password the directory verifies. */
export const LDAP_SOURCE = 'ldap';
/** Users of any other source can't log in by a password. */
export const PASSWORD_SOURCES: readonly string[] = [INTERNAL_SOURCE, LDAP_SOURCE];

/** Caps on what a user's placed executions use; 0 means no cap. */
export interface Quota extends TimeLimits {
  id: number;
  name: string;
  concurrentExecutions: number;
  memoryBytes: number;
  cores: number;
}

export interface User {
  id: number;
  username: string;
  email: string;
  roleId: number;
  quotaId: number;
  authSource: string;
  fsUid: number;
  /** Name of the folder with the user's files on hosts; absent: the user name (H754). */
  workspace?: string;
  priority: number;
  enabled: boolean;
  /** Increased by every change that must end the user's sessions, tokens and remembered credentials. */
  credentialVersion: number;
}

export interface Account {
  user: User;
  role: Role;
}

/** An access token replaces its user's password; a refresh token only yields new access tokens. */
export type TokenKind = 'access' | 'refresh';

/**
 * What authenticated the request: a password, which every request sends again, or a session or token, which
 * expires.
 */
export type Credential =
  | { by: 'password' }
  /** `workOnly`: it admits to executions, and may outlast what it admits to besides (H169). */
  | { by: 'session'; tokenHash: string; workOnly?: true }
  | { by: 'token'; idHash: string }
  /** A personal access token, whose scopes never change. */
  | { by: 'personal-token'; id: number; hash: string; scopes: readonly Scope[] };

/** A credential that a program uses for a while in place of the password. */
export type LastingCredential = Exclude<Credential, { by: 'password' }>;

/** Where a request comes from, for the audit log. */
export interface Origin {
  requestId: string | undefined;
  /** Undefined if it is not known. */
  address: string | undefined;
}

/** `origin` is set for requests that may change something. */
export type KnownActor = { kind: 'user'; credential: Credential; origin?: Origin | undefined } & Account;

/** Whom a session or token admitted when it was last read. The coordinator checks it before any change. */
export type ExpectedActor = {
  kind: 'expected';
  credential: LastingCredential;
  origin?: Origin | undefined;
} & Account;

/** Who requests a change of the coordinator. */
export type Caller = KnownActor | ExpectedActor;

/** The actor as the coordinator checks it before a change; undefined for a password, already proved. */
export const asExpected = (actor: KnownActor): ExpectedActor | undefined =>
  actor.credential.by === 'password'
    ? undefined
    : { ...actor, kind: 'expected', credential: actor.credential };

/** The source of a request: unauthenticated, or a user whose credentials were verified in this request. */
export type Actor = { kind: 'anonymous' } | KnownActor;

/** The actor of a request, and the kind of credential that proved who it is. */
export type Authenticated =
  | { by: 'none'; actor: Actor & { kind: 'anonymous' } }
  | AuthenticatedByBasic
  | { by: 'cookie'; actor: Actor }
  | { by: 'token'; actor: Actor; tokenHash: string }
  | { by: 'personal-token'; actor: Actor };

/** Basic credentials open a session, with which the client may continue. */
export type AuthenticatedByBasic = { by: 'basic'; actor: Actor; sessionToken: string };

/** Fields that users may change of themselves. */
const OWN_FIELDS: readonly string[] = ['password', 'email'];

/**
 * Returns the account if it may do `action`. Otherwise it throws `unauthenticated`, `forbidden`, or
 * `not-found` for another user's object, so that the answer does not reveal that the object exists.
 */
export function authorise<A extends Actor | ExpectedActor>(
  actor: A,
  action: Action,
): Exclude<A, { kind: 'anonymous' }> {
  if (actor.kind === 'anonymous') {
    throw new OperationError(
      'unauthenticated',
      'Log in: send a user name and password (HTTP Basic) or the session cookie.',
    );
  }
  const { user, role, credential } = actor;
  if (!role.canAccessApi) throw lacking(role, '"Use the API" (can_access_api).');
  if (action.kind === 'delete-execution' && !role.canDeleteExecutions)
    throw lacking(role, '"Delete executions" (can_delete_executions). Terminate the execution instead.');
  if (action.kind === 'see-status' && !role.canSeeStatus && !role.canChangeConfig)
    throw lacking(role, '"See the cluster" (can_see_status).');
  if (action.kind === 'exec-service' && !role.canExec)
    throw lacking(role, '"Run commands in services" (can_exec).');
  if (!role.canChangeConfig && !needsNoConfig(action, user))
    throw lacking(role, '"Change the configuration" (can_change_config).');
  if (credential.by === 'session' && credential.workOnly && !work.has(action.kind))
    throw new OperationError('unauthenticated', 'The session admits to executions only: log in again.');
  assertInScope(credential, scopeOf[action.kind]);
  // Checked last, so that a missing permission gives the same answer whether or not the execution exists.
  if ('ownerId' in action && concernsOthers(action, user) && !role.canOperateOthers)
    throw noSuchExecution({ isOthers: true });
  if (concernsOthers(action, user)) assertInScope(credential, scopeForOthers[action.kind]);
  return actor as Exclude<A, { kind: 'anonymous' }>;
}

export type OwnedAction = Exclude<Extract<Action, { ownerId: number }>['kind'], 'use-app'>;

/**
 * Authorises an action on an object of `ownerId`, which is undefined if the object does not exist. The role
 * is checked first.
 */
export function authoriseOwned(
  actor: Actor,
  kind: OwnedAction,
  ownerId: number | undefined,
): { account: KnownActor; ownerId: number } {
  const account = authorise(actor, { kind: 'list-executions' });
  authorise(actor, { kind, ownerId: ownerId ?? account.user.id });
  if (ownerId === undefined) throw noSuchExecution();
  return { account, ownerId };
}

/** Refuses a request whose credential admitted something else when it began. */
export const hasChangedSince = () =>
  new OperationError(
    'unauthenticated',
    'Your account or your session has changed since this request began: send it again.',
  );

/** `permission` has its label in the web interface, its flag in the API and, if there is one, the remedy. */
const lacking = (role: Role, permission: string) =>
  new OperationError('forbidden', `The role ${role.name} lacks ${permission}`);

/**
 * Throws `forbidden` if the credential is a personal access token without the scope; null: any such token.
 */
function assertInScope(credential: Credential, needed: Scope | null | undefined): void {
  if (credential.by !== 'personal-token' || needed === undefined || needed === 'read') return;
  if (needed === null)
    throw new OperationError(
      'forbidden',
      'A personal access token must not do this, whatever its scopes. Log in with your password.',
    );
  if (credential.scopes.includes(needed)) return;
  throw new OperationError(
    'forbidden',
    `This requires a personal access token with the scope ${needed}; yours has ${listText(credential.scopes)}.`,
  );
}

function concernsOthers(action: Action, { id }: User): boolean {
  if (action.kind === 'use-app' && action.shared) return false;
  if ('ownerId' in action) return action.ownerId !== id;
  return 'userId' in action && action.userId !== id;
}

const NEED_CONFIG: ReadonlySet<Action['kind']> = new Set([
  'configure',
  'operate-hosts',
  'see-configuration',
  'read-audit',
  'change-common-secrets',
]);

/** Whether the user may take the action without `can_change_config`. */
function needsNoConfig(action: Action, user: User): boolean {
  if (NEED_CONFIG.has(action.kind)) return false;
  if ('userId' in action && action.userId !== user.id) return false;
  return action.kind !== 'update-user' || action.fields.every((field) => OWN_FIELDS.includes(field));
}

type Hidden = Pick<OperationError, 'isOthers'>;
export const noSuchExecution = (hidden?: Hidden) =>
  new OperationError('not-found', 'There is no such execution.', hidden);
export const tokenNotValid = () =>
  new OperationError(
    'bad-token',
    'The token is not valid: it has expired, was revoked or was not issued here.',
  );
export const noSuchService = (hidden?: Hidden) =>
  new OperationError('not-found', 'There is no such service.', hidden);
