import { afterEach, beforeEach, expect, test } from 'vitest';
import { digest } from '../../control-plane/operations/digest.ts';
import { makeJoinToken } from '../../control-plane/operations/join-tokens.ts';
import { closeCodes } from '../../shared/protocol/close.ts';
import { CoordinatorRig, codeOf, seen } from '../support/coordinator-rig.ts';
import { running } from '../support/core-rig.ts';
import { eventually } from '../support/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
});
afterEach(() => rig.memory.close());

/** Makes a host as its agent does; resolves to its id. */
async function register(name: string): Promise<number> {
  const { token } = await makeJoinToken(rig.memory, rig.clock.nowMs());
  return rig.coordinator.registerHost({ tokenHash: digest(token), name, publicKey: `key of ${token}` });
}

test('C95, C41: what an administrator changed of a host outlives a restart', async () => {
  await rig.agent({ labels: ['ssd'] }).join();
  await rig.coordinator.changeHost(1, { schedulable: false, labels: ['gpu'] });
  rig.restart();
  const [host] = await rig.coordinator.hosts();
  expect(host).toMatchObject({ schedulable: false, labels: ['ssd', 'gpu'], adminLabels: ['gpu'] });
});

test('H230: a coordinator that begins knows when each host was last heard of', async () => {
  const one = await rig.agent().join();
  const heardMs = rig.clock.nowMs();
  one.drop();
  await eventually(async () => (await rig.coordinator.host(1)).state === 'disconnected');
  rig.clock.pass(60_000);
  rig.restart();
  expect(await rig.coordinator.host(1)).toMatchObject({ heardMs, state: 'disconnected' });
});

test('C93: a removed host is told so, and its execution goes on elsewhere, also after a restart', async () => {
  const one = await rig.agent().join();
  const id = await rig.submit();
  const web = await one.started();
  await one.tell(seen(web, running));
  one.drop();
  const two = await rig.agent({ name: 'two' }, await register('two')).join();
  expect(await rig.coordinator.removeHost(1, true)).toEqual({ name: 'one', requeued: [id], leftBehind: 1 });
  expect(await two.started()).toMatchObject({ service: web.service, generation: 2 });
  rig.restart();
  expect((await rig.coordinator.hosts()).map(({ name }) => name)).toEqual(['two']);
  expect(await rig.statusOf(id)).toBe('starting');
});

test('C93: a host that is connected and empty is removed, and its session closed as revoked', async () => {
  const one = await rig.agent().join();
  await rig.coordinator.removeHost(1, false);
  expect(one.socket.closeCode).toBe(closeCodes.revoked.code);
  expect(await codeOf(rig.coordinator.host(1))).toBe('not-found');
  expect(await codeOf(rig.coordinator.removeHost(1, false))).toBe('not-found');
});

test('C94: a host that is connected and has services stays', async () => {
  const one = await rig.agent().join();
  await rig.submit();
  await one.started();
  expect(await codeOf(rig.coordinator.removeHost(1, true))).toBe('conflict');
  expect(one.socket.closeCode).toBeUndefined();
  expect(await rig.coordinator.host(1)).toMatchObject({ state: 'ready', services: [{ name: 'web0' }] });
});

test('C93: a removal and the coming of another host of that name may share a commit', async () => {
  (await rig.agent().join()).drop();
  await eventually(async () => (await rig.coordinator.host(1)).state === 'disconnected');
  const removed = rig.coordinator.removeHost(1, false);
  await Promise.all([removed, register('one')]);
  expect((await rig.coordinator.hosts()).map(({ id, name }) => [id, name])).toEqual([[2, 'one']]);
});

test('C96: the log of an ended service is empty once its host is removed', async () => {
  const one = await rig.agent().join();
  const id = await rig.submit();
  const web = await one.started();
  await one.tell(seen(web, running));
  await rig.coordinator.terminate(id);
  await one.tell({ service: web.service, generation: 1, state: 'gone' });
  one.drop();
  expect(await codeOf(rig.coordinator.openLog(web.service, 'raw'))).toBe('unavailable');
  await rig.coordinator.removeHost(1, false);
  expect(await new Response(await rig.coordinator.openLog(web.service, 'raw')).text()).toBe('');
  await rig.coordinator.remove(id);
  expect(await rig.memory.query('SELECT id FROM executions')).toEqual([]);
});
