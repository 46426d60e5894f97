import { afterEach, beforeEach, expect, test } from 'vitest';
import { Credentials } from '../../../../control-plane/coordinator/changes/credentials.ts';
import type { Account, ExpectedActor } from '../../../../control-plane/core/accounts/account.ts';
import { findAccountByName } from '../../../../control-plane/store/accounts/users.ts';
import type { Db } from '../../../../control-plane/store/db/db.ts';
import { FaultyDb, memoryDatabase } from '../../../support/hosts/memory-database.ts';

let memory: Db;
let credentials: Credentials;
let caller: ExpectedActor;
let reads: number;
let monotonicMs: number;
beforeEach(async () => {
  memory = await memoryDatabase();
  const db = new FaultyDb(memory);
  [reads, monotonicMs] = [0, 0];
  db.afterQuery = () => {
    reads += 1;
  };
  credentials = new Credentials(db, { monotonicMs: () => monotonicMs });
  const { user, role } = (await findAccountByName(memory, 'alice')) as Account;
  const credential = { by: 'session', tokenHash: 'of a session that has ended' } as const;
  caller = { kind: 'expected', credential, user, role };
});
afterEach(() => memory.close());

test('C222: changes of one moment by one session read it from the database once', async () => {
  await Promise.all([1, 2, 3].map((nowMs) => credentials.read(caller, nowMs)));
  expect(reads).toBe(1);
  expect(() => credentials.actorOf(caller, 4)).toThrow('The session has ended');
});

test('C333: a credential is read again after a minute, wherever the wall clock was set', async () => {
  await credentials.read(caller, 3_600_000);
  monotonicMs = 59_999;
  await credentials.read(caller, 0);
  await credentials.read(caller, 9_600_000);
  expect(reads).toBe(1);
  monotonicMs = 60_000;
  await credentials.read(caller, 0);
  expect(reads).toBe(2);
});
