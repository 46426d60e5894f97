import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Registration } from '../../../control-plane/core/hosts/registration.ts';
import { insertJoinToken } from '../../../control-plane/store/accounts/join-tokens.ts';
import { CoordinatorRig, codeOf } from '../../support/rigs/coordinator-rig.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
  const expiresMs = rig.clock.nowMs() + 1_000;
  for (const hash of ['t1', 't2'])
    await insertJoinToken(rig.memory, { hash, name: null, labels: [], expiresMs }, 0);
});
afterEach(() => rig.memory.close());

const asked = (changes: Partial<Registration> = {}): Registration => ({
  tokenHash: 't1',
  name: 'two',
  publicKey: 'k1',
  ...changes,
});
/** Ids of the hosts with a key, and of those that the tokens made. */
const kept = async () => {
  const hosts = await rig.memory.query('SELECT id FROM hosts WHERE public_key IS NOT NULL ORDER BY id');
  const used = await rig.memory.query('SELECT host_id FROM join_tokens WHERE host_id IS NOT NULL ORDER BY 1');
  return [hosts.map(({ id }) => id), used.map(({ host_id }) => host_id)];
};

test('P17: a commit that is refused leaves neither a host nor a used token', async () => {
  rig.db.failing = 'refused';
  expect(await codeOf(rig.coordinator.registerHost(asked()))).toBe('unavailable');
  expect(await kept()).toEqual([[], []]);
  rig.db.failing = 'no';
  expect(await rig.coordinator.registerHost(asked())).toBe(2);
  expect(await kept()).toEqual([[2], [2]]);
});

test('P17: a commit whose answer got lost leaves both, and the same registration finds its host', async () => {
  rig.db.failing = 'committed';
  expect(await codeOf(rig.coordinator.registerHost(asked()))).toBe('unavailable');
  expect(await kept()).toEqual([[2], [2]]);
  rig.db.failing = 'no';
  expect(await rig.coordinator.registerHost(asked())).toBe(2);
  expect(await codeOf(rig.coordinator.registerHost(asked({ name: 'thief', publicKey: 'k2' })))).toBe(
    'bad-token',
  );
  expect(await kept()).toEqual([[2], [2]]);
});

test('P17: registrations of one turn with one token, one name or one key make one host', async () => {
  const codes = await Promise.all([
    rig.coordinator.registerHost(asked()),
    codeOf(rig.coordinator.registerHost(asked({ name: 'thief', publicKey: 'k2' }))),
    codeOf(rig.coordinator.registerHost(asked({ tokenHash: 't2', publicKey: 'k3' }))),
    rig.coordinator.registerHost(asked()),
  ]);
  expect(codes).toEqual([2, 'bad-token', 'conflict', 2]);
  expect(await kept()).toEqual([[2], [2]]);
  expect(await rig.coordinator.registerHost(asked({ tokenHash: 't2' }))).toBe(2);
  expect(await kept()).toEqual([[2], [2, 2]]);
});

test('P16: a key that gets its host in this very turn makes no other, and that of one removed in it none', async () => {
  const codes = await Promise.all([
    rig.coordinator.registerHost(asked({ name: 'one' })),
    codeOf(rig.coordinator.registerHost(asked({ tokenHash: 't2' }))),
  ]);
  expect(codes).toEqual([1, 'conflict']);
  const later = await Promise.all([
    codeOf(rig.coordinator.removeHost(1, false)),
    codeOf(rig.coordinator.registerHost(asked({ tokenHash: 't2' }))),
  ]);
  expect(later).toEqual(['fulfilled', 'revoked']);
  expect(await kept()).toEqual([[1], [1]]);
});

test('P17: an expired token makes no host', async () => {
  rig.clock.pass(1_000);
  expect(await codeOf(rig.coordinator.registerHost(asked()))).toBe('bad-token');
});

test('P16: a host of an earlier release gets its key when it joins by its name', async () => {
  expect(await rig.coordinator.registerHost(asked({ name: 'one' }))).toBe(1);
  expect(
    await codeOf(rig.coordinator.registerHost(asked({ tokenHash: 't2', name: 'one', publicKey: 'k2' }))),
  ).toBe('conflict');
  rig.restart();
  expect(await rig.coordinator.registerHost(asked({ name: 'one' }))).toBe(1);
});

test('P19: a proof lets in once, and a host has no more than a thousand in two minutes', () => {
  const nowMs = rig.clock.nowMs();
  const pass = (proofId: string, hostId = 1) => ({ hostId, proofId, expiresMs: nowMs + 91_000 });
  const admitted = (proofId: string, hostId?: number) => {
    try {
      rig.coordinator.admit(pass(proofId, hostId));
      return true;
    } catch {
      return false;
    }
  };
  expect([admitted('a'), admitted('a'), admitted('a', 2), admitted('b')]).toEqual([true, false, true, true]);
  const more = Array.from({ length: 1_000 }, (_, n) => admitted(`n${n}`));
  expect(more.filter(Boolean)).toHaveLength(998);
  expect(admitted('b', 2)).toBe(true);
  rig.clock.pass(91_000);
  expect([admitted('a'), admitted('c')]).toEqual([true, true]);
});
