import { expect, test } from 'vitest';
import type * as z from 'zod';
import { roles } from '../../../control-plane/http/accounts/roles.ts';
import { users } from '../../../control-plane/http/accounts/users.ts';
import {
  grantSchema,
  hostChanges,
  joinTokenFields,
} from '../../../control-plane/http/json/request-schemas.ts';
import { zoeAccounts } from '../../../control-plane/http/variants/zoe-accounts.ts';
import { readInput } from '../../../control-plane/operations/input.ts';

const MANY = 10_000;
const unknown = (count = MANY) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 0]));

/** Counts how often anything is read of the value: its keys as a whole, and its fields one by one. */
function counted<T extends object>(value: T): { value: T; reads: { keys: number; fields: number } } {
  const reads = { keys: 0, fields: 0 };
  const proxy = new Proxy(value, {
    ownKeys(target) {
      reads.keys += 1;
      return Reflect.ownKeys(target);
    },
    get(target, key) {
      reads.fields += 1;
      return Reflect.get(target, key);
    },
  });
  return { value: proxy, reads };
}

const problemsOf = (schema: z.ZodType, value: unknown) => readInput(schema, value, 'body').problems;

const schemas: [name: string, schema: z.ZodType][] = [
  ['a new user', users.body],
  ['changes of a user', users.changes],
  ['a new role', roles.body],
  ['a host', hostChanges],
  ['a join token', joinTokenFields],
  ['a grant', grantSchema],
  ['a new user in Zoe', zoeAccounts.users.body],
  ['changes of a user in Zoe', zoeAccounts.users.changes],
  ['a new role in Zoe', zoeAccounts.roles.body],
  ['a quota in Zoe', zoeAccounts.quotas.changes],
];

test.each(schemas)('H306: the keys of %s are listed once, and few fields are read', (_, schema) => {
  const { value, reads } = counted(unknown());
  readInput(schema, value, 'body');
  expect(reads.keys).toBeLessThanOrEqual(1);
  expect(reads.fields).toBeLessThanOrEqual(200);
});

test('H306: the fields of an object within a body are read like those of the body', () => {
  const { value, reads } = counted({ ...unknown(), memory: '1', cores: 1, labels: [] });
  const problems = problemsOf(hostChanges, { accept: value });
  expect(problems).toMatch(/^accept\/memory: must be a number; k0, k1, k2 and 9997 more: unknown fields/);
  expect(reads.keys).toBeLessThanOrEqual(1);
  expect(reads.fields).toBeLessThanOrEqual(200);
});

test('H303, H306: an error names three unknown fields, such as __proto__, and counts all others', () => {
  for (const count of [4, 100, 101, 102, MANY])
    expect(problemsOf(joinTokenFields, unknown(count))).toBe(
      `k0, k1, k2 and ${count - 3} more: unknown fields; known: name and labels`,
    );
  expect(problemsOf(zoeAccounts.users.changes, unknown())).toBe('k0, k1, k2 and 9997 more: unknown fields');
  const body = JSON.parse('{"__proto__":{"name":"a"},"labels":[]}');
  expect(problemsOf(joinTokenFields, body)).toBe('__proto__: unknown field; known: name and labels');
});

test('H306: known fields are read wherever they stand', () => {
  const grant = { grant_type: 'password' };
  expect(readInput(grantSchema, { ...unknown(), ...grant }, 'body').data).toEqual(grant);
  expect(problemsOf(joinTokenFields, { ...unknown(), name: 5 })).toMatch(/^name: must be text; k0, /);
  expect(problemsOf(users.changes, { ...unknown(), email: 5 })).toMatch(/^email: must be text; k0, /);
  const wrong = { ...unknown(), fs_uid: -1, role_id: '5', can_access_full_zapp_shop: 5 };
  expect(problemsOf(zoeAccounts.users.changes, wrong)).toMatch(/^fs_uid: must be at least 1; k0, /);
  expect(problemsOf(zoeAccounts.roles.changes, wrong)).toMatch(
    /^can_access_full_app_shop: must be true or false; k0, /,
  );
});
