/** Owns who may do what: users, roles, actors, and the one `authorise`. Pure. */
import { OperationError } from '../model/errors.ts';

export interface Role {
  id: number;
  name: string;
  canChangeConfig: boolean;
  canDeleteExecutions: boolean;
  canSeeStatus: boolean;
  canAccessFullAppShop: boolean;
  canOperateOthers: boolean;
  canCustomizeResources: boolean;
  canAccessApi: boolean;
}

/** The role that makes an administrator. It can't be changed, so that somebody can always mend the rest. */
export const ADMIN_ROLE = 'admin';

/** The source of accounts whose password Berth itself keeps; users of any other can't log in. */
export const INTERNAL_SOURCE = 'internal';

/** Caps on what of a user runs; 0 is no cap. */
export interface Quota {
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
  priority: number;
  enabled: boolean;
  /** Raised by every change that must end sessions and remembered credentials. */
  credentialVersion: number;
}

export interface Account {
  user: User;
  role: Role;
}

/** An access token stands for its user's password; a refresh token is good for new access tokens alone. */
export type TokenKind = 'access' | 'refresh';

/** What proved who asks: a password, which each request shows anew, or a session or token, which ends by itself. */
export type Credential =
  | { by: 'password' }
  | { by: 'session'; tokenHash: string }
  | { by: 'token'; idHash: string };

export type KnownActor = { kind: 'user'; credential: Credential } & Account;

/** Who asks: nobody known, or a user whose credentials were verified in this request. */
export type Actor = { kind: 'anonymous' } | KnownActor;

/** What an actor wants to do, and whose execution or user it is about. */
export type Action =
  | { kind: 'login' }
  /** One's own. */
  | { kind: 'use-tokens' }
  | { kind: 'submit-execution' }
  | { kind: 'list-executions' }
  | { kind: 'read-execution'; ownerId: number }
  | { kind: 'terminate-execution'; ownerId: number }
  | { kind: 'delete-execution'; ownerId: number }
  /** The hosts, and the queue in general. */
  | { kind: 'see-status' }
  /** Users, roles, quotas and hosts, but for the last two. */
  | { kind: 'configure' }
  | { kind: 'read-user'; userId: number }
  | { kind: 'update-user'; userId: number; fields: readonly string[] };

/** What users may change of themselves. */
const OWN_FIELDS: readonly string[] = ['password', 'email'];

/**
 * Returns the account when it may do `action`, else throws: `unauthenticated`, `forbidden`, or `not-found` for another
 * user's object, whose existence is nobody else's business.
 */
export function authorise(actor: Actor, action: Action): KnownActor {
  if (actor.kind === 'anonymous') {
    throw new OperationError(
      'unauthenticated',
      'Log in: send a user name and password (HTTP Basic) or the session cookie.',
    );
  }
  const { user, role } = actor;
  if (!role.canAccessApi)
    throw new OperationError('forbidden', `The role ${role.name} does not allow use of the API.`);
  if (action.kind === 'delete-execution' && !role.canDeleteExecutions) {
    throw new OperationError(
      'forbidden',
      `The role ${role.name} does not allow deleting executions; terminate it instead.`,
    );
  }
  if (action.kind === 'see-status' && !role.canSeeStatus && !role.canChangeConfig)
    throw new OperationError('forbidden', `The role ${role.name} does not allow a look at the cluster.`);
  if (!role.canChangeConfig && !needsNoConfig(action, user)) {
    throw new OperationError(
      'forbidden',
      `The role ${role.name} does not allow this on users, roles, quotas and hosts.`,
    );
  }
  // Last, so that what the role does not allow is the same answer for an execution of others as for none.
  if ('ownerId' in action && action.ownerId !== user.id && !role.canOperateOthers) throw noSuchExecution();
  return actor;
}

/** Whether a user may do it whose role is not to change the configuration. */
function needsNoConfig(action: Action, user: User): boolean {
  if (action.kind === 'configure') return false;
  if ('userId' in action && action.userId !== user.id) return false;
  return action.kind !== 'update-user' || action.fields.every((field) => OWN_FIELDS.includes(field));
}

export const noSuchExecution = () => new OperationError('not-found', 'There is no such execution.');
export const noSuchService = () => new OperationError('not-found', 'There is no such service.');
