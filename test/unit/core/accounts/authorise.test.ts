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
type Needed = readonly [Flag, refusal: string];
const CONFIG: Needed = ['canChangeConfig', 'forbidden'];
const DELETER: Needed = ['canDeleteExecutions', 'forbidden'];
const EXEC: Needed = ['canExec', 'forbidden'];
const OTHERS: Needed = ['canOperateOthers', 'not-found'];
/**
 * An action, the scopes that a token needs for it (null: no token may do it), and the flags that it requires.
 * The first missing flag, in this order, gives the error.
 */
type Row = [Action, scopes: readonly Scope[] | null, ...Needed[]];
const ACTIONS: Row[] = [
  [{ kind: 'login' }, []],
  [{ kind: 'use-tokens' }, null],
  [{ kind: 'change-personal-tokens' }, null],
  [{ kind: 'read-secrets' }, []],
  [{ kind: 'change-secrets' }, ['submit']],
  [{ kind: 'change-common-secrets' }, ['admin'], CONFIG],
  [{ kind: 'read-personal-tokens', userId: SELF }, []],
  [{ kind: 'read-personal-tokens', userId: OTHER }, ['admin'], CONFIG],
  [{ kind: 'submit-execution' }, ['submit']],
  [{ kind: 'list-executions' }, []],
  [{ kind: 'read-execution', ownerId: SELF }, []],
  [{ kind: 'read-execution', ownerId: OTHER }, [], OTHERS],
  [{ kind: 'terminate-execution', ownerId: SELF }, ['submit']],
  [{ kind: 'terminate-execution', ownerId: OTHER }, ['submit', 'operate'], OTHERS],
  [{ kind: 'limit-execution', ownerId: SELF }, ['submit']],
  [{ kind: 'limit-execution', ownerId: OTHER }, ['submit', 'operate'], OTHERS],
  [{ kind: 'exec-service', ownerId: SELF }, ['submit'], EXEC],
  [{ kind: 'exec-service', ownerId: OTHER }, ['submit', 'operate'], EXEC, OTHERS],
  [{ kind: 'use-app', ownerId: SELF, shared: false }, ['submit']],
  [{ kind: 'use-app', ownerId: OTHER, shared: false }, ['submit', 'operate'], OTHERS],
  [{ kind: 'use-app', ownerId: OTHER, shared: true }, ['submit']],
  [{ kind: 'delete-execution', ownerId: SELF }, ['submit'], DELETER],
  [{ kind: 'delete-execution', ownerId: OTHER }, ['submit', 'operate'], DELETER, OTHERS],
  [{ kind: 'see-configuration' }, [], CONFIG],
  [{ kind: 'read-audit' }, ['admin'], CONFIG],
  [{ kind: 'operate-hosts' }, ['operate'], CONFIG],
  [{ kind: 'configure' }, ['admin'], CONFIG],
  [{ kind: 'read-user', userId: SELF }, []],
  [{ kind: 'read-user', userId: OTHER }, [], CONFIG],
  [{ kind: 'update-user', userId: SELF, fields: ['password', 'email'] }, ['admin']],
  [{ kind: 'update-user', userId: SELF, fields: ['email', 'roleId'] }, ['admin'], CONFIG],
  [{ kind: 'update-user', userId: OTHER, fields: ['email'] }, ['admin'], CONFIG],
];
const SEE_STATUS: Action = { kind: 'see-status' };
const ALL: Row[] = [...ACTIONS, [SEE_STATUS, []]];

const roles = Array.from({ length: 2 ** FLAGS.length }, (_, bits) => {
  const flags = FLAGS.map((flag, bit) => [flag, (bits & (1 << bit)) !== 0]);
  return { id: 1, name: `role${bits}`, ...Object.fromEntries(flags) } as Role;
});

const user = { id: SELF } as User;
const administrator = roles.at(-1) as Role;

/** `allowed`, or the code of the refusal. */
const outcomeOf = (
  role: Role,
  action: Action,
  credential: KnownActor['credential'] = { by: 'password' },
): string => {
  try {
    authorise({ kind: 'user', credential, user, role }, action);
    return 'allowed';
  } catch (error) {
    if (error instanceof OperationError) return error.code;
    throw error;
  }
};

test.each(ACTIONS)('H200: exactly the roles with its flags may do %j', (action, _, ...required) => {
  const flags = [['canAccessApi', 'forbidden'] as const, ...required];
  expect(roles.map((role) => outcomeOf(role, action))).toEqual(
    roles.map((role) => flags.find(([flag]) => !role[flag])?.[1] ?? 'allowed'),
  );
  expect(() => authorise({ kind: 'anonymous' }, action)).toThrow(
    expect.objectContaining({ code: 'unauthenticated' }),
  );
});

test('W80: exactly the roles that may see the status or change the configuration see the cluster', () => {
  expect(roles.filter((role) => outcomeOf(role, SEE_STATUS) === 'allowed')).toEqual(
    roles.filter(
      ({ canAccessApi, canSeeStatus, canChangeConfig }) => canAccessApi && (canSeeStatus || canChangeConfig),
    ),
  );
});

const scopeSets = Array.from({ length: 2 ** scopes.length }, (_, bits) =>
  scopes.filter((_scope, bit) => (bits & (1 << bit)) !== 0),
);
const byToken = (set: readonly Scope[]) => ({ by: 'personal-token', id: 1, hash: '', scopes: set }) as const;
const isAllowed = (set: readonly Scope[], role: Role, action: Action): boolean =>
  outcomeOf(role, action, byToken(set)) === 'allowed';

test.each(ALL)('H485: exactly the tokens with its scopes may do %j', (action, needed) => {
  expect(scopeSets.map((set) => isAllowed(set, administrator, action))).toEqual(
    scopeSets.map((set) => needed?.every((scope) => set.includes(scope)) ?? false),
  );
});

test('H485: every action is in the table, and all scopes together allow nothing beyond the role', () => {
  expect(new Set(ALL.map(([{ kind }]) => kind))).toEqual(new Set(Object.keys(scopeOf)));
  for (const [action, needed] of ALL)
    for (const role of roles)
      expect(isAllowed(scopes, role, action)).toBe(needed !== null && outcomeOf(role, action) === 'allowed');
});

test('H169: a session that may have outlasted its password admits to executions and to no other action', () => {
  const credential = { by: 'session', tokenHash: '', workOnly: true } as const;
  const admitted = ALL.filter(([action]) => outcomeOf(administrator, action, credential) === 'allowed');
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
