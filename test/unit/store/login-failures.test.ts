import { beforeEach, expect, test } from 'vitest';
import { addFailure, findFailures } from '../../../control-plane/store/accounts/login-failures.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { testDatabase } from '../../support/hosts/memory-database.ts';

let db: Db;
beforeEach(async () => {
  db = await testDatabase();
});

test('H328: rows of failed logins stay below their limit, and those with the most failures stay', async () => {
  const fail = (key: string, nowMs: number) => addFailure(db, [key], { nowMs, forgetMs: 0, maxRows: 10 });
  for (let n = 1; n <= 5; n++) await fail('guessed', n);
  for (let n = 6; n <= 50; n++) await fail(`name ${n}`, n);
  const [row] = await db.query('SELECT count(*) AS failures FROM login_failures');
  expect(row?.failures).toBe(10);
  expect((await findFailures(db, ['guessed'])).get('guessed')).toEqual({ count: 5, lastMs: 5 });
  expect((await findFailures(db, ['name 6', 'name 41', 'name 42', 'name 50'])).size).toBe(2);
});
