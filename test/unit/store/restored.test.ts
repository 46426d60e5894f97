import { expect, test } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { assignedIds, givenToUsers, prepareRestored } from '../../../control-plane/store/schema/backup.ts';
import { loadIdKey } from '../../../control-plane/store/schema/id-sequences.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';

async function database(): Promise<Db> {
  const db = await openEmbedded(':memory:');
  await migrate(db, migrations);
  return db;
}

test('C210: each database gets a random key of the proofs of ids once, and a restored copy keeps its own', async () => {
  const [copy, former] = [await database(), await database()];
  const key = await loadIdKey(copy);
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(await loadIdKey(former)).not.toBe(key);
  await migrate(copy, migrations);
  await prepareRestored(copy, await assignedIds(former));
  expect(await loadIdKey(copy)).toBe(key);
});
test('H754: a restored copy gives no number or workspace that the replaced database has given', async () => {
  const [copy, former] = [await database(), await database()];
  await former.query(
    `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
      VALUES ('late', '', 1, 1, 'internal', 7000, 0, 1)`,
  );
  await former.query('DELETE FROM users');
  await prepareRestored(copy, await assignedIds(former), await givenToUsers(former));
  expect(await givenToUsers(copy)).toEqual({ fsUid: 7_000, workspaces: ['late'] });
});
test('H253: new ids are above those of the replaced database, even if it has assigned more than are skipped', async () => {
  const copy = await database();
  await prepareRestored(copy, { epoch: 7, execution: 5_000_000, service: 9_000_000 });
  expect(await assignedIds(copy)).toEqual({ epoch: 8, execution: 5_000_000, service: 9_000_000 });
});
