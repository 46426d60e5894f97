import { scryptSync } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { Authentication } from '../../../control-plane/operations/accounts/authentication.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { memoryDatabase } from '../../support/hosts/memory-database.ts';

const MINUTE_MS = 60_000;
const ADDRESS = '192.0.2.1';

let db: Db;
let nowMs = 1_700_000_000_000;
let authentication: Authentication;
beforeEach(async () => {
  db = await memoryDatabase();
  await setPassword('secret');
  authentication = open();
});
afterEach(() => db.close());

const open = () => new Authentication({ db, nowMs: () => nowMs, deploymentName: 'test', tokenRules: null });

/** Sets Alice's password, with a hash cheap enough for many logins. */
async function setPassword(password: string): Promise<void> {
  const key = scryptSync(password, 'salt', 32, { N: 16, r: 8, p: 1 }).toString('base64url');
  const hash = `scrypt$4$8$1$${Buffer.from('salt').toString('base64url')}$${key}`;
  await db.query(
    'UPDATE users SET password_hash = ?, credential_version = credential_version + 1 WHERE id = 1',
    [hash],
  );
}

/** Resolves to the session token, or to the code of the error. */
const logIn = (password: string, { username = 'alice', at = authentication } = {}): Promise<string> =>
  at.authenticate({ basic: { username, password }, sessionTokens: [], addressOf: () => ADDRESS }).then(
    (proof) => (proof.by === 'basic' ? proof.sessionToken : proof.by),
    (error) => {
      if (error instanceof OperationError) return error.code;
      throw error;
    },
  );

const fail = async (times: number) => {
  for (let n = 0; n < times; n++) expect(await logIn(`wrong ${n}`)).toBe('unauthenticated');
};

test('H20: verified credentials are cached for a minute, with their session', async () => {
  const session = await logIn('secret');
  nowMs += MINUTE_MS - 1;
  expect(await logIn('secret')).toBe(session);
  nowMs += 1;
  expect(await logIn('secret')).toMatch(/^(?!unauthenticated)[\w-]{43}$/);
  expect(await logIn('secret')).not.toBe(session);
});

test('H131: a client that has logged in before is not delayed by the guesses of others; any other client is', async () => {
  await logIn('secret');
  nowMs += 2 * MINUTE_MS;
  await fail(10);
  expect(await logIn('wrong')).toBe('too-many');
  expect(await logIn('secret', { at: open() })).toBe('too-many');
  expect(await logIn('secret')).toHaveLength(43);
  nowMs += MINUTE_MS;
  await setPassword('changed');
  await fail(1);
  expect(await logIn('secret')).toBe('too-many');
  expect(await logIn('changed')).toBe('too-many');
});

test('H131: a client that logged in twelve hours ago is throttled like any other', async () => {
  await logIn('secret');
  nowMs += 12 * 60 * MINUTE_MS;
  await fail(10);
  expect(await logIn('secret')).toBe('too-many');
});

test('H19: a change of the user invalidates cached credentials', async () => {
  await logIn('secret');
  await setPassword('changed');
  expect(await logIn('secret')).toBe('unauthenticated');
  expect(await logIn('changed')).toHaveLength(43);
});

test('H130: the right password of a disabled user counts as a failed login', async () => {
  await db.query('UPDATE users SET enabled = 0 WHERE id = 1');
  for (let n = 0; n < 10; n++) expect(await logIn('secret')).toBe('unauthenticated');
  expect(await logIn('secret')).toBe('too-many');
});
