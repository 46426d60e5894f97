import { beforeEach, expect, test } from 'vitest';
import {
  type AuditEntry,
  entryWithoutUser,
  failedLoginNetwork,
  MAX_NETWORKS,
} from '../../../control-plane/core/accounts/audit.ts';
import {
  countFailedLogin,
  countRefusal,
  expiredAudit,
  insertAuditOfChange,
  insertAudits,
  listAudit,
} from '../../../control-plane/store/accounts/audit.ts';
import { insertRole, listRoles } from '../../../control-plane/store/accounts/roles.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { testDatabase } from '../../support/hosts/memory-database.ts';
import { cases, fc } from '../../support/tools/random-cases.ts';

const MINUTE_MS = 60_000;

let db: Db;
beforeEach(async () => {
  db = await testDatabase();
});

const entry = (userId: number | null, fields: Partial<AuditEntry> = {}): AuditEntry => ({
  ...entryWithoutUser('password', undefined, { action: 'update-user', targetId: 1 }),
  ...{ userId, username: userId === null ? null : `user ${userId}` },
  ...fields,
});
const all = () => listAudit(db, {}, 100_000);

test('H464: failed logins of a thousand networks a minute have rows of their own, and all others share one', async () => {
  const failures = (nowMs: number) =>
    Array.from({ length: MAX_NETWORKS + 200 }, (_, nth) =>
      countFailedLogin(failedLoginNetwork(`10.${nth >> 8}.${nth & 255}.7`), nowMs),
    );
  const again = countFailedLogin(failedLoginNetwork('10.0.3.99'), 59_999);
  await db.batch([...failures(0), again]);
  const rows = await all();
  expect(rows).toHaveLength(MAX_NETWORKS + 1);
  expect(rows.find(({ address }) => address === null)?.count).toBe(200);
  expect(rows.find(({ address }) => address === '10.0.3.0/24')?.count).toBe(2);
  await db.batch(failures(MINUTE_MS));
  expect(await all()).toHaveLength(2 * (MAX_NETWORKS + 1));
});

test('H464: the network of an address is its /24, or its /64 of IPv6, and short whatever a proxy sends', () => {
  const addresses = ['192.0.2.77', '::ffff:192.0.2.77', '2001:db8:0:1::5', 'x'.repeat(1_000), undefined];
  const networks = ['192.0.2.0/24', '192.0.2.0/24', '2001:db8:0:1::/64', 'x'.repeat(64), null];
  expect(addresses.map(failedLoginNetwork)).toEqual(networks);
});

test('H462: refusals are one row for each account, action and reason in a minute', async () => {
  for (const userId of [1, 2])
    for (const nowMs of [0, 1, MINUTE_MS])
      for (const outcome of ['forbidden', 'not-found'] as const)
        for (const targetId of [7, 8]) await countRefusal(db, entry(userId, { targetId }), outcome, nowMs);
  const rows = await all();
  expect(rows.map(({ count }) => count).sort()).toEqual([2, 2, 2, 2, 4, 4, 4, 4]);
  expect(new Set(rows.map(({ targetId }) => targetId))).toEqual(new Set([7]));
});

test('C265: a statement that changes nothing leaves no row, and one that inserts names what it has inserted', async () => {
  const [role] = await listRoles(db, {});
  if (!role) throw new Error('there are no roles');
  const rename = (id: number) => ({ sql: `UPDATE roles SET name = name WHERE id = ?`, args: [id] });
  const change = entry(1, { action: 'update-role', targetId: 2 });
  await db.batch([rename(999), insertAuditOfChange(change, 0)]);
  expect(await all()).toEqual([]);
  await db.batch([rename(2), insertAuditOfChange(change, 0)]);
  const newest = { sql: 'SELECT max(id) FROM roles', args: [] };
  const audit = insertAuditOfChange(entry(1, { action: 'create-role' }), 0, newest);
  await db.batch([insertRole({ ...role, name: 'new' }), audit]);
  const [made] = await listRoles(db, { name: 'new' });
  expect((await all()).map(({ targetId }) => targetId)).toEqual([made?.id, 2]);
});

test('C266: rows go when their days are over, the oldest first, and stay without a setting', async () => {
  await db.batch([insertAudits([1, 2, 3].map((timeMs) => ({ entry: entry(1), timeMs })))]);
  await db.batch(expiredAudit({ auditMs: null, auditRows: 1_000 }));
  expect(await all()).toHaveLength(3);
  await db.batch(expiredAudit({ auditMs: 2, auditRows: 1_000 }));
  expect((await all()).map(({ timeMs }) => timeMs)).toEqual([3]);
});

test('C267: beyond the bound, the oldest rows of the account with the most go, and nobody displaces others', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(null, 1, 2, 3), { maxLength: 60 }),
      fc.integer({ min: 1, max: 40 }),
      async (users, auditRows) => {
        await db.batch([{ sql: 'DELETE FROM audit', args: [] }]);
        await db.batch([insertAudits(users.map((userId, timeMs) => ({ entry: entry(userId), timeMs })))]);
        // A step takes from one account; the steps end when nothing is left to remove.
        for (let removed = 1; removed > 0; )
          [, removed = 0] = await db.batch(expiredAudit({ auditMs: null, auditRows }));
        const left = (await all()).reverse();
        expect(left).toHaveLength(Math.min(users.length, auditRows));
        const ofUser = (userId: number | null) => users.filter((one) => one === userId).length;
        for (const userId of [null, 1, 2, 3]) {
          const kept = left.filter((row) => row.userId === userId);
          // An account within its share of the bound loses nothing.
          if (ofUser(userId) <= Math.floor(auditRows / 4)) expect(kept).toHaveLength(ofUser(userId));
          const last = users.flatMap((one, timeMs) => (one === userId ? [timeMs] : [])).slice(-kept.length);
          expect(kept.map(({ timeMs }) => timeMs)).toEqual(kept.length === 0 ? [] : last);
        }
      },
    ),
    cases(15),
  );
});
