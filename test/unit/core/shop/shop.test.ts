/**
 * Tests of the shop's use cases on a real coordinator (control-plane/operations/shop/shop.ts), and of the
 * shop that comes with Berth.
 */

import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Actor, Role } from '../../../../control-plane/core/accounts/account.ts';
import { parameterKinds } from '../../../../control-plane/core/shop/shop-parameters.ts';
import { ReadTurns } from '../../../../control-plane/guard/read-turns.ts';
import { UserShares } from '../../../../control-plane/guard/user-shares.ts';
import { EXAMPLE_SHOP, shopFolder } from '../../../../control-plane/local/shop-folder.ts';
import { Passwords } from '../../../../control-plane/operations/passwords/passwords.ts';
import { Seal } from '../../../../control-plane/operations/secrets/seal.ts';
import {
  explainFromShop,
  fillInFromShop,
  getShopEntry,
  listShop,
  readPicture,
  type ShopContext,
  type ShopOrder,
  startFromShop,
} from '../../../../control-plane/operations/shop/shop.ts';
import { readShop } from '../../../../control-plane/operations/shop/shop-entries.ts';
import { findAccountByName } from '../../../../control-plane/store/accounts/users.ts';
import { findExecution } from '../../../../control-plane/store/executions/executions.ts';
import { ScratchShop } from '../../../support/fixtures/shops.ts';
import { sparkFolder } from '../../../support/fixtures/spark-shop.ts';
import { CoordinatorRig, codeOf } from '../../../support/rigs/coordinator-rig.ts';

const ID = 'spark-0';
let shop: ScratchShop;
let rig: CoordinatorRig;
let context: ShopContext;
/** Alice with an administrator's role, changed as a test requires. */
let actorWith: (changes?: Partial<Role>) => Actor;

beforeAll(async () => {
  shop = await ScratchShop.make();
  await shop.write({ ...sparkFolder, 'spark/logo.png': 'picture', 'a/manifest.json': 'broken' });
});
afterAll(() => shop.remove());

beforeEach(async () => {
  rig = await CoordinatorRig.open();
  rig.coordinator.wake();
  const shopFiles = await shop.open('folder');
  context = {
    db: rig.db,
    coordinator: rig.coordinator,
    openLog: rig.logsOf(),
    passwords: new Passwords(),
    deploymentName: 'test',
    minPasswordLength: 10,
    turns: new ReadTurns(Date.now),
    shares: new UserShares(Date.now),
    seal: new Seal([]),
    nowMs: Date.now,
    shopFiles,
  };
  const found = await findAccountByName(rig.memory, 'alice');
  if (!found) throw new Error('the user alice is missing');
  const { user, role } = found;
  actorWith = (changes = {}) => ({
    kind: 'user',
    credential: { by: 'password' },
    user,
    role: { ...role, ...changes },
  });
});

const start = (actor: Actor, order: ShopOrder) => startFromShop(context, actor, ID, order, 'queue');

const student = { name: 'student', canAccessFullAppShop: false };

test('W68: an application that a role must not see does not exist for it', async () => {
  const actor = actorWith(student);
  expect((await listShop(context, actor)).entries).toEqual([]);
  expect(await codeOf(getShopEntry(context, actor, ID))).toBe('not-found');
  expect(await codeOf(readPicture(context, actor, ID))).toBe('not-found');
  expect(await codeOf(start(actor, { name: 'run', values: {} }))).toBe('not-found');
  expect(await codeOf(getShopEntry(context, actorWith(), 'spark-1'))).toBe('not-found');
  expect((await getShopEntry(context, actorWith(), ID)).entry.name).toBe('Distributed PySpark notebook');
});

test('H513: a refusal has at most 100 problems, however many values are sent', async () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`none-${at}`, '']));
  const refused = await fillInFromShop(context, actorWith(), ID, async () => many);
  expect('problems' in refused && refused.problems).toHaveLength(100);
});

test('W70: an application started from the shop is an execution with the resulting description', async () => {
  const values = { 'service_count:spark-worker': '3', 'environment:SPARK_WORKER_CORES': '4' };
  const started = await start(actorWith(), { name: 'my notebook', values });
  expect(started).toEqual({ executionId: 1 });
  const execution = await findExecution(rig.memory, 1);
  expect(execution).toMatchObject({ name: 'my notebook', status: 'queued', userId: 1 });
  expect(execution?.serviceIds).toHaveLength(5);
  const description = JSON.parse(String(execution?.description));
  expect(description.services[1]).toMatchObject({ total_count: 3, essential_count: 1 });
  expect(Object.fromEntries(description.services[1].environment)).toMatchObject({
    SPARK_WORKER_CORES: '4',
    SPARK_WORKER_RAM: '11274289152',
  });
});

test('W67, W70: all problems are reported with their fields, and nothing is started', async () => {
  const values = { 'service_count:spark-worker': '99' };
  const problems = [
    { parameter: 'name', message: 'must not be empty' },
    { parameter: 'service_count:spark-worker', message: 'must be at most 16' },
  ];
  expect(await start(actorWith(), { name: '', values })).toEqual({ problems });
  expect(await explainFromShop(context, actorWith(), ID, { name: '', values })).toEqual({ problems });
  expect(await findExecution(rig.memory, 1)).toBeUndefined();
});

test('the shop that comes with Berth has no faults, and has parameters of every kind', async () => {
  const { entries, problems } = await readShop(shopFolder(EXAMPLE_SHOP));
  expect(problems).toEqual([]);
  expect(entries.map(({ id, logo }) => [id, logo])).toEqual([
    ['elastic-batch-0', 'logo.svg'],
    ['hello-0', 'logo.svg'],
    ['two-tier-0', 'logo.svg'],
  ]);
  const kinds = new Set(entries.flatMap(({ parameters }) => parameters.map(({ kind }) => kind)));
  expect([...kinds].sort()).toEqual([...parameterKinds].sort());
  expect(EXAMPLE_SHOP.endsWith(join('examples', 'shop'))).toBe(true);
});
