import { afterEach, expect, test } from 'vitest';
import { Credentials } from '../../../../control-plane/coordinator/changes/credentials.ts';
import type { Account, ExpectedActor } from '../../../../control-plane/core/accounts/account.ts';
import { findAccountByName } from '../../../../control-plane/store/accounts/users.ts';
import type { Db } from '../../../../control-plane/store/db/db.ts';
import { FaultyDb, memoryDatabase } from '../../../support/hosts/memory-database.ts';

let memory: Db;
afterEach(() => memory.close());

test('C222: changes of one moment by one session read it from the database once', async () => {
  memory = await memoryDatabase();
  const db = new FaultyDb(memory);
  let reads = 0;
  db.afterQuery = () => {
    reads += 1;
  };
  const credentials = new Credentials(db, { monotonicMs: () => 0 });
  const alice = (await findAccountByName(memory, 'alice')) as Account;
  const credential = { by: 'session', tokenHash: 'of a session that has ended' } as const;
  const caller: ExpectedActor = { kind: 'expected', credential, user: alice.user, role: alice.role };
  await Promise.all([1, 2, 3].map((nowMs) => credentials.read(caller, nowMs)));
  expect(reads).toBe(1);
  expect(() => credentials.actorOf(caller, 4)).toThrow('The session has ended');
});

test('C333: a credential is read again after a minute, wherever the wall clock was set', async () => {
  memory = await memoryDatabase();
  const db = new FaultyDb(memory);
  let reads = 0;
  db.afterQuery = () => {
    reads += 1;
  };
  let monotonicMs = 0;
  const credentials = new Credentials(db, { monotonicMs: () => monotonicMs });
  const alice = (await findAccountByName(memory, 'alice')) as Account;
  const credential = { by: 'session', tokenHash: 'of a session that has ended' } as const;
  const caller: ExpectedActor = { kind: 'expected', credential, user: alice.user, role: alice.role };
  await credentials.read(caller, 3_600_000);
  monotonicMs = 59_999;
  await credentials.read(caller, 0);
  await credentials.read(caller, 9_600_000);
  expect(reads).toBe(1);
  monotonicMs = 60_000;
  await credentials.read(caller, 0);
  expect(reads).toBe(2);
});
