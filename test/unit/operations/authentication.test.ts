import { scryptSync } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../control-plane/config.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { FamiliarAddresses } from '../../../control-plane/guard/familiar-addresses.ts';
import { UserShares } from '../../../control-plane/guard/user-shares.ts';
import { Authentication } from '../../../control-plane/operations/accounts/authentication.ts';
import { endSession } from '../../../control-plane/operations/accounts/sessions.ts';
import type { PasswordVerificationDeps } from '../../../control-plane/operations/passwords/password-verification.ts';
import { Passwords } from '../../../control-plane/operations/passwords/passwords.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { FaultyDb, testDatabase } from '../../support/hosts/memory-database.ts';
import { eventually } from '../../support/tools/eventually.ts';

const MINUTE_MS = 60_000;
const ADDRESS = '192.0.2.1';

let db: Db;
let faulty: FaultyDb;
let nowMs = 1_700_000_000_000;
let authentication: Authentication;
beforeEach(async () => {
  db = await testDatabase();
  faulty = new FaultyDb(db);
  await setPassword('secret');
  authentication = open();
});

const open = (more: Partial<PasswordVerificationDeps> = {}) =>
  new Authentication({
    ...{ db: faulty, passwords: new Passwords(), shares: new UserShares(() => nowMs), nowMs: () => nowMs },
    ...{ deploymentName: 'test', tokenRules: null, credentialsEnded: async () => {} },
    ...{ maxWaitingLogins: 512, maxSessionsPerUser: 5, ...more },
  });

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
const logIn = (
  password: string,
  { username = 'alice', at = authentication, address = ADDRESS, needsSession = false } = {},
): Promise<string> =>
  at.authenticate({ basic: { username, password }, addressOf: () => address, needsSession }).then(
    (proof) => (proof.by === 'basic' ? proof.sessionToken : proof.by),
    (error) => {
      if (error instanceof OperationError) return error.code;
      throw error;
    },
  );

const fail = async (times: number) => {
  for (let n = 0; n < times; n++) expect(await logIn(`wrong ${n}`)).toBe('unauthenticated');
};

const isOpen = async (token: string): Promise<boolean> =>
  (await authentication.authenticate({ sessionToken: token, addressOf: () => ADDRESS })).by === 'cookie';

/** A login by the form. */
const logInByForm = (): Promise<string> =>
  authentication.logIn({ basic: { username: 'alice', password: 'secret' }, addressOf: () => ADDRESS });

test('H20: a client that sends Basic credentials for hours keeps one session, which does not expire', async () => {
  const session = await logIn('secret');
  for (let n = 0; n < 20; n++) {
    nowMs += 60 * MINUTE_MS;
    expect(await logIn('secret')).toBe(session);
    expect(await isOpen(session)).toBe(true);
  }
  expect(await db.query('SELECT user_id FROM sessions')).toHaveLength(1);
});

test('H327: Basic credentials have one session for each user and address, also after a restart, which is replaced by none of the minute after it was opened or extended', async () => {
  const [one, other] = [open(), open()];
  const elsewhere = await logIn('secret', { at: open(), address: '192.0.2.2' });
  const session = await logIn('secret', { at: one });
  nowMs += MINUTE_MS;
  expect(await logIn('secret', { at: one })).toBe(session);
  nowMs += MINUTE_MS - 1;
  const second = await logIn('secret', { at: other });
  expect(await Promise.all([session, second].map(isOpen))).toEqual([true, true]);
  nowMs += 1;
  const third = await logIn('secret', { at: open() });
  const all = [session, second, third, elsewhere];
  expect(await Promise.all(all.map(isOpen))).toEqual([false, true, true, true]);
});

const logInAndOut = async () =>
  endSession({ db, nowMs: Date.now }, { kind: 'anonymous' }, await logIn('secret', { needsSession: true }));

test('H20: a crowd of logins after a logout gets at most two sessions, which are open', async () => {
  await logInAndOut();
  const logins = Array.from({ length: 20 }, () => logIn('secret', { needsSession: true }));
  const sessions = [...new Set(await Promise.all(logins))];
  expect(sessions.length).toBeLessThanOrEqual(2);
  expect(await Promise.all(sessions.map(isOpen))).toEqual(sessions.map(() => true));
});

test('H20: a login that is under way while another one logs in and out gets a session that is open', async () => {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  faulty.afterQuery = () => {
    begun.resolve();
    return held.promise;
  };
  const late = logIn('secret', { needsSession: true });
  await begun.promise;
  faulty.afterQuery = () => {};
  await logInAndOut();
  held.resolve();
  expect(await isOpen(await late)).toBe(true);
});

test('H20, H131: failed logins delay no login after a logout with credentials that are remembered', async () => {
  await endSession({ db, nowMs: Date.now }, { kind: 'anonymous' }, await logIn('secret'));
  await fail(10);
  const session = await logIn('secret', { needsSession: true });
  expect(await isOpen(session)).toBe(true);
  expect(await logIn('secret', { needsSession: true })).toBe(session);
});

test('H327: beyond the limit the oldest session ends, and a login by the form stays open', async () => {
  const forms: string[] = [];
  for (let n = 0; n < 6; n++) {
    nowMs += 1_000;
    forms.push(await logInByForm());
  }
  expect(await Promise.all(forms.map(isOpen))).toEqual([false, true, true, true, true, true]);
});

test('H327: a program that logs in from many addresses logs no browser out', async () => {
  const form = await logInByForm();
  const programs: string[] = [];
  for (let n = 1; n <= 20; n++) {
    nowMs += 1_000;
    programs.push(await logIn('secret', { at: open(), address: `192.0.2.${n}` }));
  }
  expect(await isOpen(form)).toBe(true);
  expect((await Promise.all(programs.map(isOpen))).lastIndexOf(false)).toBe(15);
  expect(await db.query('SELECT user_id FROM sessions')).toHaveLength(5);
});

test('H19: credentials are not remembered for another user who takes the name', async () => {
  expect(await logIn('secret')).toMatch(/^[\w-]{43}$/);
  await db.query(`UPDATE users SET username = 'alice-before' WHERE id = 1`);
  await db.query(
    `INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled, credential_version)
      SELECT 2, 'alice', email, role_id, quota_id, auth_source, fs_uid, priority, enabled, credential_version
      FROM users WHERE id = 1`,
  );
  expect(await logIn('secret')).toBe('unauthenticated');
});

test('H131: a client that has logged in within twelve hours is not delayed by the guesses of others; any other client is', async () => {
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
  nowMs += 24 * 60 * MINUTE_MS;
  expect(await logIn('changed')).toHaveLength(43);
  nowMs += 12 * 60 * MINUTE_MS;
  await fail(10);
  expect(await logIn('changed')).toBe('too-many');
});

test('H130: the right password of a disabled user counts as a failed login', async () => {
  await db.query('UPDATE users SET enabled = 0 WHERE id = 1');
  for (let n = 0; n < 10; n++) expect(await logIn('secret')).toBe('unauthenticated');
  expect(await logIn('secret')).toBe('too-many');
});

/** A directory with Alice's password, and with what it was asked. */
class FakeDirectory {
  groupsOf = async (): Promise<string[]> => [];
  readonly maxRunning = 1;
  password = 'secret';
  asked: (string | undefined)[] = [];
  held: Promise<void> | undefined;

  async verify(username: string | undefined, password: string): Promise<boolean> {
    this.asked.push(username);
    await this.held;
    return username === 'alice' && password === this.password;
  }
}

test.each<[string, { username?: string; address?: string; password?: string }]>([
  ['any name from an address of a recent login', { username: 'nobody' }],
  ['credentials that were accepted lately', { address: '203.0.113.9', password: 'secret' }],
])(
  'H342: a login with %s comes before those that wait longer',
  async (_, { password = 'wrong', ...from }) => {
    const names = ['nobody', ...Array.from({ length: 24 }, (_, n) => `name ${n}`)];
    await db.query(
      `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
        SELECT value, '', 3, 1, 'ldap', 1, 0, 1 FROM json_each(?)`,
      [JSON.stringify(names)],
    );
    await db.query(`UPDATE users SET auth_source = 'ldap' WHERE id = 1`);
    const directory = new FakeDirectory();
    authentication = open({ directory });
    await logIn('secret');
    nowMs += MINUTE_MS;
    const held = Promise.withResolvers<void>();
    directory.held = held.promise;
    const waiting = (count: number) =>
      eventually(() => authentication.limits.some(({ used }) => used === count));
    const ended: string[] = [];
    const guesses = names.slice(1).map(async (username, n) => {
      await logIn('wrong', { username, address: `10.0.${n}.1` });
      ended.push('guess');
    });
    await waiting(23);
    const login = logIn(password, from).then(() => ended.push('login'));
    await waiting(24);
    held.resolve();
    await Promise.all([login, ...guesses]);
    // One was under way, and each fourth turn belongs to the others.
    expect(ended.indexOf('login')).toBeLessThanOrEqual(2);
  },
);

test('H342: an address is familiar for twelve hours after the last login from it, and at most 10,000 are, the latest', async () => {
  const familiar = new FamiliarAddresses(() => nowMs);
  familiar.add('2001:db8::1');
  nowMs += 12 * 60 * MINUTE_MS - 1;
  const asked = ['2001:db8::2', '2001:db8:0:1::1', undefined].map((address) => familiar.has(address));
  expect(asked).toEqual([true, false, false]);
  nowMs += 1;
  expect(familiar.has('2001:db8::2')).toBe(false);
  for (let n = 0; n <= 10_000; n++) familiar.add(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  expect([familiar.has('10.0.0.0'), familiar.has('10.0.0.1')]).toEqual([false, true]);
});

describe('a user of ldap', () => {
  let directory: FakeDirectory;
  beforeEach(async () => {
    directory = new FakeDirectory();
    authentication = open({ directory });
    await db.query(`UPDATE users SET auth_source = 'ldap' WHERE id = 1`);
  });

  test('H558: what the directory has accepted holds for a minute, and a password that it no longer accepts ends its session', async () => {
    const session = await logIn('secret');
    const form = await logInByForm();
    directory.password = 'changed';
    nowMs += MINUTE_MS - 1;
    expect(await logIn('secret')).toBe(session);
    nowMs += 1;
    expect(await logIn('secret')).toBe('unauthenticated');
    expect(await Promise.all([session, form].map(isOpen))).toEqual([false, true]);
    expect(await logIn('changed')).toHaveLength(43);
    nowMs += 12 * 60 * MINUTE_MS;
    expect(await isOpen(form)).toBe(false);
  });

  test('H558: a password that was accepted before is throttled once it was refused', async () => {
    await logIn('secret');
    directory.password = 'changed';
    nowMs += MINUTE_MS;
    // The first refusal of what was accepted before counts as no guess.
    for (let n = 0; n < 11; n++) expect(await logIn('secret')).toBe('unauthenticated');
    expect(await logIn('secret')).toBe('too-many');
    const { length } = directory.asked;
    expect(await logIn('changed')).toBe('too-many');
    expect(directory.asked).toHaveLength(length);
  });

  test('H554: logins at a slow directory wait in a queue of their own, with as many at once as it has connections', async () => {
    await db.query(
      `INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled, password_hash)
        SELECT 2, 'bob', email, role_id, quota_id, 'internal', fs_uid, priority, enabled, password_hash
        FROM users WHERE id = 1`,
    );
    const held = Promise.withResolvers<void>();
    directory.held = held.promise;
    const logins = ['secret', 'wrong', 'other'].map((password) => logIn(password));
    expect(await logIn('secret', { username: 'bob' })).toHaveLength(43);
    expect(directory.asked).toHaveLength(1);
    held.resolve();
    expect((await Promise.all(logins)).filter((one) => one === 'unauthenticated')).toHaveLength(2);
  });

  test('H557: a name that nobody has goes one way or the other, always the same, and the directory never sees it', async () => {
    await db.query(`INSERT INTO secrets (name, value) VALUES ('password-way-key', 'key')`);
    const ways = async (at: Authentication) => {
      const all: boolean[] = [];
      for (let n = 0; n < 4; n++) {
        const { length } = directory.asked;
        await logIn('wrong', { username: `stranger ${n}`, address: `10.0.${n}.1`, at });
        all.push(directory.asked.length > length);
      }
      return all;
    };
    const first = await ways(authentication);
    expect(new Set(first)).toEqual(new Set([true, false]));
    expect(await ways(open({ directory }))).toEqual(first);
    expect(new Set(directory.asked)).toEqual(new Set([undefined]));
  });

  test('H559: where there is no directory, logins of its users are refused, and reported once a minute', async () => {
    const reported: number[] = [];
    const without = open({ withoutDirectory: ({ id }) => void reported.push(id) });
    for (let n = 0; n < 2; n++) expect(await logIn('secret', { at: without })).toBe('unauthenticated');
    expect(reported).toEqual([1]);
    nowMs += MINUTE_MS;
    await logIn('secret', { at: without });
    await logIn('secret', { at: without, username: 'nobody' });
    expect(reported).toEqual([1, 1]);
  });
});

test('H559: a Worker does not start with a directory in its settings, and says so', () => {
  expect(() => readConfig({ BERTH_LDAP_URL: 'ldaps://directory' })).toThrow(
    /BERTH_LDAP_URL: a Worker can not verify passwords at a directory/,
  );
  expect(() => readConfig({ BERTH_LDAP_URL: '' })).not.toThrow();
});
