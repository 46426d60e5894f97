/**
 * Tests of `authorise` with every combination of role flags; test/api/accounts/authorisation.test.ts tests
 * the endpoints.
 */
import { expect, test } from 'vitest';
import {
  type Action,
  authorise,
  authoriseOwned,
  type KnownActor,
  type Role,
  type Scope,
  type User,
} from '../../../../control-plane/core/accounts/account.ts';
import { scopeOf, scopes } from '../../../../control-plane/core/accounts/action.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';

const FLAGS = [
  'canChangeConfig',
  'canDeleteExecutions',
  'canSeeStatus',
  'canAccessFullAppShop',
  'canOperateOthers',
  'canCustomizeResources',
  'canAccessApi',
  'canExec',
] as const;
type Flag = (typeof FLAGS)[number];

const [SELF, OTHER] = [7, 8];
/** Every action with the flags that it requires. The first missing flag, in this order, gives the error. */
const ACTIONS: [Action, ...(readonly [Flag, string])[]][] = [
  [{ kind: 'login' }],
  [{ kind: 'use-tokens' }],
  [{ kind: 'submit-execution' }],
  [{ kind: 'list-executions' }],
  [{ kind: 'read-execution', ownerId: SELF }],
  [{ kind: 'read-execution', ownerId: OTHER }, ['canOperateOthers', 'not-found']],
  [{ kind: 'terminate-execution', ownerId: SELF }],
  [{ kind: 'terminate-execution', ownerId: OTHER }, ['canOperateOthers', 'not-found']],
  [{ kind: 'delete-execution', ownerId: SELF }, ['canDeleteExecutions', 'forbidden']],
  [
    { kind: 'delete-execution', ownerId: OTHER },
    ['canDeleteExecutions', 'forbidden'],
    ['canOperateOthers', 'not-found'],
  ],
  [{ kind: 'exec-service', ownerId: SELF }, ['canExec', 'forbidden']],
  [{ kind: 'exec-service', ownerId: OTHER }, ['canExec', 'forbidden'], ['canOperateOthers', 'not-found']],
  [{ kind: 'use-app', ownerId: SELF, shared: false }],
  [{ kind: 'use-app', ownerId: OTHER, shared: false }, ['canOperateOthers', 'not-found']],
  [{ kind: 'use-app', ownerId: OTHER, shared: true }],
  [{ kind: 'see-configuration' }, ['canChangeConfig', 'forbidden']],
  [{ kind: 'read-audit' }, ['canChangeConfig', 'forbidden']],
  [{ kind: 'operate-hosts' }, ['canChangeConfig', 'forbidden']],
  [{ kind: 'configure' }, ['canChangeConfig', 'forbidden']],
  [{ kind: 'change-personal-tokens' }],
  [{ kind: 'read-secrets' }],
  [{ kind: 'change-secrets' }],
  [{ kind: 'change-common-secrets' }, ['canChangeConfig', 'forbidden']],
  [{ kind: 'read-personal-tokens', userId: SELF }],
  [{ kind: 'read-personal-tokens', userId: OTHER }, ['canChangeConfig', 'forbidden']],
  [{ kind: 'read-user', userId: SELF }],
  [{ kind: 'read-user', userId: OTHER }, ['canChangeConfig', 'forbidden']],
  [{ kind: 'update-user', userId: SELF, fields: ['password', 'email'] }],
  [{ kind: 'update-user', userId: SELF, fields: ['email', 'roleId'] }, ['canChangeConfig', 'forbidden']],
  [{ kind: 'update-user', userId: OTHER, fields: ['email'] }, ['canChangeConfig', 'forbidden']],
];

const roles = Array.from({ length: 2 ** FLAGS.length }, (_, bits) => {
  const flags = FLAGS.map((flag, bit) => [flag, (bits & (1 << bit)) !== 0]);
  return { id: 1, name: `role${bits}`, ...Object.fromEntries(flags) } as Role;
});

const user = { id: SELF } as User;
const administrator = roles.at(-1) as Role;
const BY_PASSWORD = { by: 'password' } as const;

/** `allowed`, or the code of the refusal. */
const outcomeOf = (
  role: Role,
  action: Action,
  credential: KnownActor['credential'] = BY_PASSWORD,
): string => {
  try {
    authorise({ kind: 'user', credential, user, role }, action);
    return 'allowed';
  } catch (error) {
    if (error instanceof OperationError) return error.code;
    throw error;
  }
};

test.each(ACTIONS)('H200: exactly the roles with its flags may do %j', (action, ...required) => {
  const flags = [['canAccessApi', 'forbidden'] as const, ...required];
  expect(roles.map((role) => outcomeOf(role, action))).toEqual(
    roles.map((role) => flags.find(([flag]) => !role[flag])?.[1] ?? 'allowed'),
  );
  expect(() => authorise({ kind: 'anonymous' }, action)).toThrow(
    expect.objectContaining({ code: 'unauthenticated' }),
  );
});

test('W80: exactly the roles that may see the status or change the configuration see the cluster', () => {
  expect(roles.filter((role) => outcomeOf(role, { kind: 'see-status' }) === 'allowed')).toEqual(
    roles.filter(
      ({ canAccessApi, canSeeStatus, canChangeConfig }) => canAccessApi && (canSeeStatus || canChangeConfig),
    ),
  );
});

/** The scopes that a token needs for an action; null: no token may do it. */
const NEEDED: [Action, readonly Scope[] | null][] = [
  [{ kind: 'login' }, []],
  [{ kind: 'use-tokens' }, null],
  [{ kind: 'change-personal-tokens' }, null],
  [{ kind: 'read-secrets' }, []],
  [{ kind: 'change-secrets' }, ['submit']],
  [{ kind: 'change-common-secrets' }, ['admin']],
  [{ kind: 'read-personal-tokens', userId: SELF }, []],
  [{ kind: 'read-personal-tokens', userId: OTHER }, ['admin']],
  [{ kind: 'submit-execution' }, ['submit']],
  [{ kind: 'list-executions' }, []],
  [{ kind: 'read-execution', ownerId: SELF }, []],
  [{ kind: 'read-execution', ownerId: OTHER }, []],
  [{ kind: 'terminate-execution', ownerId: SELF }, ['submit']],
  [{ kind: 'terminate-execution', ownerId: OTHER }, ['submit', 'operate']],
  [{ kind: 'limit-execution', ownerId: SELF }, ['submit']],
  [{ kind: 'limit-execution', ownerId: OTHER }, ['submit', 'operate']],
  [{ kind: 'exec-service', ownerId: SELF }, ['submit']],
  [{ kind: 'exec-service', ownerId: OTHER }, ['submit', 'operate']],
  [{ kind: 'use-app', ownerId: SELF, shared: false }, ['submit']],
  [{ kind: 'use-app', ownerId: OTHER, shared: false }, ['submit', 'operate']],
  [{ kind: 'use-app', ownerId: OTHER, shared: true }, ['submit']],
  [{ kind: 'delete-execution', ownerId: SELF }, ['submit']],
  [{ kind: 'delete-execution', ownerId: OTHER }, ['submit', 'operate']],
  [{ kind: 'see-status' }, []],
  [{ kind: 'see-configuration' }, []],
  [{ kind: 'read-audit' }, ['admin']],
  [{ kind: 'operate-hosts' }, ['operate']],
  [{ kind: 'configure' }, ['admin']],
  [{ kind: 'read-user', userId: OTHER }, []],
  [{ kind: 'update-user', userId: SELF, fields: ['email'] }, ['admin']],
];

const scopeSets = Array.from({ length: 2 ** scopes.length }, (_, bits) =>
  scopes.filter((_scope, bit) => (bits & (1 << bit)) !== 0),
);
const byToken = (set: readonly Scope[]) => ({ by: 'personal-token', id: 1, hash: '', scopes: set }) as const;
const isAllowed = (set: readonly Scope[], role: Role, action: Action): boolean =>
  outcomeOf(role, action, byToken(set)) === 'allowed';

test.each(NEEDED)('H485: exactly the tokens with its scopes may do %j', (action, needed) => {
  expect(scopeSets.map((set) => isAllowed(set, administrator, action))).toEqual(
    scopeSets.map((set) => needed?.every((scope) => set.includes(scope)) ?? false),
  );
});

test('H485: every action is in the table of scopes, and all scopes together allow nothing beyond the role', () => {
  expect(new Set(NEEDED.map(([{ kind }]) => kind))).toEqual(new Set(Object.keys(scopeOf)));
  for (const [action, needed] of NEEDED)
    for (const role of roles)
      expect(isAllowed(scopes, role, action)).toBe(needed !== null && outcomeOf(role, action) === 'allowed');
});

test('H169: a session that may have outlasted its password admits to executions and to no other action', () => {
  const credential = { by: 'session', tokenHash: '', workOnly: true } as const;
  const admitted = NEEDED.filter(([action]) => outcomeOf(administrator, action, credential) === 'allowed');
  const ofExecutions = ['submit', 'read', 'terminate', 'limit', 'delete'].map((verb) => `${verb}-execution`);
  expect(new Set(admitted.map(([{ kind }]) => kind))).toEqual(
    new Set(['login', 'list-executions', ...ofExecutions]),
  );
});

test("H485: a token without the scope gets the same answer for no execution and for one that its user doesn't see", () => {
  const role = { name: 'user', canAccessApi: true } as Role;
  const refusal = (set: readonly Scope[], ownerId: number | undefined): string => {
    try {
      const actor = { kind: 'user', credential: byToken(set), user, role } as const;
      authoriseOwned(actor, 'terminate-execution', ownerId);
      return '';
    } catch (error) {
      return String(error);
    }
  };
  for (const set of scopeSets) expect(refusal(set, OTHER)).toBe(refusal(set, undefined));
});
