import { expect, test } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { assignedIds, prepareRestored } from '../../../control-plane/store/schema/backup.ts';
import { migrate } from '../../../control-plane/store/schema/migrate.ts';
import { migrations } from '../../../control-plane/store/schema/migrations.ts';

async function database(all = migrations): Promise<Db> {
  const db = await openEmbedded(':memory:');
  await migrate(db, all);
  return db;
}

const before = migrations.slice(
  0,
  migrations.findIndex(({ name }) => name === 'proofs of ids'),
);

test('C210: a restored copy keeps its key of the proofs of ids', async () => {
  const [copy, former] = [await database(), await database()];
  const { idKey } = await assignedIds(copy);
  await prepareRestored(copy, await assignedIds(former));
  expect(idKey).toMatch(/^[0-9a-f]{64}$/);
  expect((await assignedIds(copy)).idKey).toBe(idKey);
});
test('C210: a backup from before the upgrade to proofs gets the key of the database that it replaces', async () => {
  const [copy, former] = [await database(before), await database()];
  const { idKey } = await assignedIds(former);
  await prepareRestored(copy, await assignedIds(former));
  expect((await assignedIds(copy)).idKey).toBe(idKey);
});
test('C210: a backup from before the upgrade gets a key of its own if nothing better is known', async () => {
  const [copy, former] = [await database(before), await database(before)];
  expect((await assignedIds(former)).idKey).toBeUndefined();
  await prepareRestored(copy, await assignedIds(former));
  expect((await assignedIds(copy)).idKey).toMatch(/^[0-9a-f]{64}$/);
});
test('H253: new ids are above those of the replaced database, even if it has assigned more than are skipped', async () => {
  const copy = await database();
  const former = { epoch: 7, execution: 5_000_000, service: 9_000_000, idKey: undefined };
  await prepareRestored(copy, former);
  expect(await assignedIds(copy)).toMatchObject({ epoch: 8, execution: 5_000_000, service: 9_000_000 });
});
