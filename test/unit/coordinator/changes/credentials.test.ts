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
  const credentials = new Credentials(db);
  const alice = (await findAccountByName(memory, 'alice')) as Account;
  const credential = { by: 'session', tokenHash: 'of a session that has ended' } as const;
  const caller: ExpectedActor = { kind: 'expected', credential, user: alice.user, role: alice.role };
  await Promise.all([1, 2, 3].map((nowMs) => credentials.read(caller, nowMs)));
  expect(reads).toBe(1);
  expect(() => credentials.actorOf(caller, 4)).toThrow('The session has ended');
});
