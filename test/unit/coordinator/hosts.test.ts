import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { ReplayGuard } from '../../../control-plane/coordinator/agents/replay-guard.ts';
import type { Registration } from '../../../control-plane/core/hosts/registration.ts';
import { joinTokenStatements } from '../../../control-plane/store/accounts/join-tokens.ts';
import { encode } from '../../../shared/protocol/codec.ts';
import { CoordinatorRig, codeOf } from '../../support/rigs/coordinator-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
  const expiresMs = rig.clock.nowMs() + 1_000;
  for (const hash of ['t1', 't2'])
    await rig.memory.batch(joinTokenStatements({ hash, name: null, labels: [], expiresMs }, 0));
});

const registration = (changes: Partial<Registration> = {}): Registration => ({
  tokenHash: 't1',
  name: 'two',
  publicKey: 'k1',
  ...changes,
});
/** Ids of the hosts with a key, and of those that the tokens registered. */
const registered = async () => {
  const hosts = await rig.memory.query('SELECT id FROM hosts WHERE public_key IS NOT NULL ORDER BY id');
  const used = await rig.memory.query('SELECT host_id FROM join_tokens WHERE host_id IS NOT NULL ORDER BY 1');
  return [hosts.map(({ id }) => id), used.map(({ host_id }) => host_id)];
};

const release = { version: '9.0.0', sha256: '0'.repeat(64), signature: 'x'.repeat(86) };

test('H511: only the agent of a connected host gets the release, and what was wrong with an earlier update ends', async () => {
  expect(await codeOf(rig.coordinator.updateAgent(99, release))).toBe('not-found');
  expect(await codeOf(rig.coordinator.updateAgent(1, release))).toBe('conflict');
  const agent = await rig.agent().join();
  await agent.reportAndWait();
  const failure = { kind: 'update-failed', text: 'The update to 8.0.0 failed: it ended' };
  agent.connection.receive(
    encode({ type: 'report', sequence: 7, observations: [], forgotten: [], conditions: [failure] }),
  );
  await eventually(async () => (await rig.coordinator.host(1)).conditions.length === 1);
  await rig.coordinator.updateAgent(1, release);
  expect(agent.socket.all('update')).toEqual([{ type: 'update', ...release }]);
  expect((await rig.coordinator.host(1)).conditions).toEqual([]);
});

test('P17: a refused commit leaves neither a host nor a used token, and an expired one registers no host', async () => {
  const register = () => rig.coordinator.registerHost(registration());
  expect(await rig.codeWhile('refused', register)).toBe('unavailable');
  expect(await registered()).toEqual([[], []]);
  expect(await rig.coordinator.registerHost(registration())).toBe(2);
  rig.clock.pass(1_000);
  const late = registration({ tokenHash: 't2', name: 'three', publicKey: 'k2' });
  expect(await codeOf(rig.coordinator.registerHost(late))).toBe('bad-token');
  expect(await registered()).toEqual([[2], [2]]);
});

test('P17: a commit whose answer is lost leaves both, and the same registration finds its host', async () => {
  const register = () => rig.coordinator.registerHost(registration());
  expect(await rig.codeWhile('committed', register)).toBe('unavailable');
  expect(await registered()).toEqual([[2], [2]]);
  expect(await rig.coordinator.registerHost(registration())).toBe(2);
  const thief = registration({ name: 'thief', publicKey: 'k2' });
  expect(await codeOf(rig.coordinator.registerHost(thief))).toBe('bad-token');
  expect(await registered()).toEqual([[2], [2]]);
});

test('P17: registrations of one turn with the same token, name or key create one host', async () => {
  const codes = await Promise.all([
    rig.coordinator.registerHost(registration()),
    codeOf(rig.coordinator.registerHost(registration({ name: 'thief', publicKey: 'k2' }))),
    codeOf(rig.coordinator.registerHost(registration({ tokenHash: 't2', publicKey: 'k3' }))),
    rig.coordinator.registerHost(registration()),
  ]);
  expect(codes).toEqual([2, 'bad-token', 'conflict', 2]);
  expect(await registered()).toEqual([[2], [2]]);
  expect(await rig.coordinator.registerHost(registration({ tokenHash: 't2' }))).toBe(2);
  expect(await registered()).toEqual([[2], [2, 2]]);
});

test('P16: a key registers only one host per turn, and none if its host is removed in that turn', async () => {
  const codes = await Promise.all([
    rig.coordinator.registerHost(registration({ name: 'one' })),
    codeOf(rig.coordinator.registerHost(registration({ tokenHash: 't2' }))),
  ]);
  expect(codes).toEqual([1, 'conflict']);
  const later = await Promise.all([
    codeOf(rig.coordinator.removeHost(1, false)),
    codeOf(rig.coordinator.registerHost(registration({ tokenHash: 't2' }))),
  ]);
  expect(later).toEqual(['fulfilled', 'revoked']);
  expect(await registered()).toEqual([[1], [1]]);
});

test('P16: a host of an earlier release gets its key when it registers under its name', async () => {
  expect(await rig.coordinator.registerHost(registration({ name: 'one' }))).toBe(1);
  const other = registration({ tokenHash: 't2', name: 'one', publicKey: 'k2' });
  expect(await codeOf(rig.coordinator.registerHost(other))).toBe('conflict');
  rig.restart();
  expect(await rig.coordinator.registerHost(registration({ name: 'one' }))).toBe(1);
});

test('P19: a proof admits one connection, and a host may make a thousand in two minutes', () => {
  const nowMs = rig.clock.nowMs();
  const proof = (proofId: string, hostId = 1) => ({ hostId, proofId, expiresMs: nowMs + 91_000 });
  const admitted = (proofId: string, hostId?: number) => {
    try {
      rig.coordinator.agents.admit(proof(proofId, hostId));
      return true;
    } catch {
      return false;
    }
  };
  expect([admitted('a'), admitted('a'), admitted('a', 2), admitted('b')]).toEqual([true, false, true, true]);
  const more = Array.from({ length: 1_000 }, (_, n) => admitted(`n${n}`));
  expect(more.filter(Boolean)).toHaveLength(998);
  expect(admitted('b', 2)).toBe(true);
  rig.clock.pass(90_999);
  expect([admitted('a', 2), admitted('c')]).toEqual([false, false]);
  rig.clock.pass(1);
  expect([admitted('a'), admitted('c')]).toEqual([true, true]);
});

test('P19: nothing is stored for hosts that do not reconnect', () => {
  const minuteMs = 60_000;
  const guard = new ReplayGuard();
  const use = (hostId: number, expiresMs: number, nowMs: number) =>
    guard.use({ hostId, proofId: 'a', expiresMs }, nowMs);
  for (let hostId = 1; hostId <= 100; hostId++) use(hostId, 3 * minuteMs, minuteMs);
  expect(guard.hosts).toBe(100);
  use(101, 5 * minuteMs, 3 * minuteMs);
  expect(guard.hosts).toBe(1);
});

test('C105: the silence of a host that has never connected is recorded from its registration on', async () => {
  rig.clock.pass(7);
  const registeredMs = rig.clock.nowMs();
  const id = await rig.coordinator.registerHost(registration({ tokenHash: 't2' }));
  rig.clock.pass(1_000);
  expect(await rig.memory.query('SELECT silent_since_ms FROM hosts WHERE id = ?', [id])).toEqual([
    { silent_since_ms: registeredMs },
  ]);
});

test('W82, W183: a coordinator shows what an earlier one has sampled, once a look requires it', async () => {
  const sampled = async () => {
    const [{ samples: ofHost }, { samples }] = await Promise.all([
      rig.coordinator.host(1),
      rig.coordinator.overview({ queued: 1, hosts: 1, text: '', state: null }),
    ]);
    return [ofHost.slice(0, -1), samples.slice(0, -1)] as const;
  };
  const pass = async (minutes: number) => {
    rig.clock.pass(minutes * 60_000);
    await rig.coordinator.allowance(1);
    await setImmediate();
  };
  const agent = await rig.agent().join();
  await agent.reportAndWait();
  for (let minute = 0; minute < 70; minute++) await pass(1);
  const before = await sampled();
  expect(before.map(({ length }) => length)).toEqual([60, 60]);
  rig.restart();
  expect(await sampled()).toEqual(before);
  expect(await rig.memory.query('SELECT count(*) AS rows FROM samples')).toEqual([{ rows: 2 * 61 }]);

  // They stay as old as they are, and a write that fails is made up for.
  rig.clock.step(-3_600_000);
  await pass(0);
  rig.db.failing = 'refused';
  await pass(1);
  rig.db.failing = 'no';
  await pass(1);
  expect(rig.logged.join()).toContain('samples.failed');
  const after = await sampled();
  rig.restart();
  expect(await sampled()).toEqual(after);
  const [{ length }] = after;
  expect(length).toBe(60);
});
