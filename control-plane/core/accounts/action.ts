/**
 * Actions: what an actor attempts, and the scope that a personal access token needs for it. A new action does
 * not compile without its scope. Pure.
 */

/** What a personal access token may do, within what its user's role allows. Each scope includes `read`. */
export const scopes = ['read', 'submit', 'operate', 'admin'] as const;
export type Scope = (typeof scopes)[number];

/** An action, and the owner of the execution or the user that it concerns. */
export type Action =
  | { kind: 'login' }
  /** Issuing and revoking one's own access and refresh tokens. */
  | { kind: 'use-tokens' }
  /** Listing personal access tokens: names and times, never the tokens. */
  | { kind: 'read-personal-tokens'; userId: number }
  /** Creating personal access tokens of one's own, and revoking any that one may list. */
  | { kind: 'change-personal-tokens' }
  /** Listing one's own secrets and those of all: names and times, never values. */
  | { kind: 'read-secrets' }
  /** Setting and removing secrets of one's own. */
  | { kind: 'change-secrets' }
  /** Setting and removing secrets of all users, and encrypting all values with the present key. */
  | { kind: 'change-common-secrets' }
  | { kind: 'submit-execution' }
  | { kind: 'list-executions' }
  | { kind: 'read-execution'; ownerId: number }
  | { kind: 'terminate-execution'; ownerId: number }
  | { kind: 'limit-execution'; ownerId: number }
  | { kind: 'delete-execution'; ownerId: number }
  /** Running commands in a service, and connecting to its ports. */
  | { kind: 'exec-service'; ownerId: number }
  /** Requests to the web application at a port of a service. `shared`: every user may send them. */
  | { kind: 'use-app'; ownerId: number; shared: boolean }
  /** Hosts, and the queue in general. */
  | { kind: 'see-status' }
  /** Reading users, roles, quotas, hosts and metrics. */
  | { kind: 'see-configuration' }
  /** Reading what all users have done. */
  | { kind: 'read-audit' }
  /** Every change of hosts, and join tokens. */
  | { kind: 'operate-hosts' }
  /** Every change of users, roles and quotas except for `update-user`. */
  | { kind: 'configure' }
  | { kind: 'read-user'; userId: number }
  | { kind: 'update-user'; userId: number; fields: readonly string[] };

/** Null: no personal access token may do it, whatever its scopes. */
export const scopeOf: Readonly<Record<Action['kind'], Scope | null>> = {
  login: 'read',
  'use-tokens': null,
  'read-personal-tokens': 'read',
  'change-personal-tokens': null,
  'read-secrets': 'read',
  'change-secrets': 'submit',
  'change-common-secrets': 'admin',
  'submit-execution': 'submit',
  'list-executions': 'read',
  'read-execution': 'read',
  'terminate-execution': 'submit',
  'limit-execution': 'submit',
  'delete-execution': 'submit',
  'exec-service': 'submit',
  'use-app': 'submit',
  'see-status': 'read',
  'see-configuration': 'read',
  'read-audit': 'admin',
  'operate-hosts': 'operate',
  configure: 'admin',
  'read-user': 'read',
  'update-user': 'admin',
};

/** Needed as well if the action concerns another user. */
export const scopeForOthers: Readonly<Partial<Record<Action['kind'], Scope>>> = {
  'terminate-execution': 'operate',
  'limit-execution': 'operate',
  'delete-execution': 'operate',
  'exec-service': 'operate',
  'use-app': 'operate',
  'read-personal-tokens': 'admin',
};

/** All that a session admits to which may have outlasted its password (H169). */
export const work: ReadonlySet<Action['kind']> = new Set([
  'login',
  'submit-execution',
  'list-executions',
  'read-execution',
  'terminate-execution',
  'limit-execution',
  'delete-execution',
]);
