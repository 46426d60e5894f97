/**
 * Tests of `authorise` with every combination of role flags; test/api/accounts/authorisation.test.ts tests
 * the endpoints.
 */
import { expect, test } from 'vitest';
import {
  type Action,
  type Actor,
  authorise,
  type Role,
  type User,
} from '../../../../control-plane/core/accounts/account.ts';

const FLAGS = [
  'canChangeConfig',
  'canDeleteExecutions',
  'canSeeStatus',
  'canAccessFullAppShop',
  'canOperateOthers',
  'canCustomizeResources',
  'canAccessApi',
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
  [{ kind: 'configure' }, ['canChangeConfig', 'forbidden']],
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

const actorWith = (user: User, role: Role): Actor => ({
  kind: 'user',
  credential: { by: 'password' },
  user,
  role,
});

test.each(ACTIONS)('H200: exactly the roles with its flags may do %j', (action, ...required) => {
  const user = { id: SELF } as User;
  const codeOf = (role: Role): string => {
    try {
      return authorise(actorWith(user, role), action) ? 'allowed' : '';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const flags = [['canAccessApi', 'forbidden'] as const, ...required];
  expect(roles.map(codeOf)).toEqual(
    roles.map((role) => flags.find(([flag]) => !role[flag])?.[1] ?? 'allowed'),
  );
  expect(() => authorise({ kind: 'anonymous' }, action)).toThrow(
    expect.objectContaining({ code: 'unauthenticated' }),
  );
});

test('W80: exactly the roles that may see the status or change the configuration see the cluster', () => {
  const allowed = roles.filter((role) => {
    try {
      return authorise(actorWith({ id: SELF } as User, role), { kind: 'see-status' });
    } catch {
      return false;
    }
  });
  expect(allowed).toEqual(
    roles.filter(
      ({ canAccessApi, canSeeStatus, canChangeConfig }) => canAccessApi && (canSeeStatus || canChangeConfig),
    ),
  );
});
