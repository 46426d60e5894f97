import { expect, test } from 'vitest';
import { HISTORY_MS, SAMPLE_MS } from '../../../../control-plane/core/views/history.ts';
import { HostHistory } from '../../../../control-plane/core/views/host-history.ts';
import { Overview, usagesOf } from '../../../../control-plane/core/views/overview.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, hostFacts } from '../../../support/rigs/core-rig.ts';

const GIB = 1024 ** 3;
const ALL = { queued: 10, hosts: 10, text: '', state: null };
const of = (memoryBytes: number) => application(service({ resources: needs(memoryBytes, 1) }));

const samplesOf = (overview: Overview, rig: CoreRig, nowMs: number) =>
  overview.of(rig.cluster, ALL, nowMs).samples;

test('W81: the head of the queue is shown in queue order, each execution with what it waits for', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('host1'));
  const waiting = [1, 2, 3].map(() => rig.submit(of(100 * GIB)));
  rig.turn();
  const { queue, hosts, summary } = new Overview().of(rig.cluster, { ...ALL, queued: 2 }, rig.nowMs);
  expect(queue).toMatchObject(
    waiting.slice(0, 2).map(({ id, name, userId }, at) => ({ id, name, userId, position: at + 1 })),
  );
  expect(queue[0]?.waitingFor.join(' ')).toContain('memory');
  expect([hosts.length, summary.queue.executions]).toEqual([1, 3]);
});

test('W81: hosts are found by a part of their name, address or labels and by state, and only the first are shown', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('alpha', { labels: ['gpu'] }));
  rig.hello(hostFacts('beta', { address: '198.51.100.7' }));
  rig.change(rig.hello(hostFacts('gamma')), { schedulable: false });
  const found = (search: object) => {
    const { hosts, hostsFound } = new Overview().of(rig.cluster, { ...ALL, ...search }, rig.nowMs);
    return [hosts.map(({ name }) => name).join(' '), hostsFound];
  };
  expect(found({ text: 'GPU' })).toEqual(['alpha', 1]);
  expect(found({ text: '198.51' })).toEqual(['beta', 1]);
  expect(found({ state: 'drained' })).toEqual(['gamma', 1]);
  expect(found({ text: 'a', state: 'lost' })).toEqual(['', 0]);
  expect(found({ hosts: 2 })).toEqual(['alpha beta', 3]);
});

test('W81: the reasons of the first waiting executions may be as many ms old as there are hosts, and no older', () => {
  const rig = new CoreRig();
  for (let n = 0; n < 50; n++) rig.hello(hostFacts(`host${n}`));
  const overview = new Overview();
  const firstAt = (ms: number) => overview.of(rig.cluster, ALL, rig.nowMs + ms).queue[0]?.name;
  expect(firstAt(0)).toBeUndefined();
  rig.submitInTurn(of(100 * GIB));
  expect([firstAt(49), firstAt(51)]).toEqual([undefined, 'run']);
});

test('W82, W184: samples of the cluster and of a host are held for an hour, one each half a minute, and the last one is of now', () => {
  const rig = new CoreRig();
  const { id } = rig.hello(hostFacts('host1'));
  rig.submitInTurn(of(3 * GIB));
  const overview = new Overview();
  const start = rig.nowMs;
  for (let ms = 0; ms <= 2 * HISTORY_MS; ms += 1_000) overview.note(rig.cluster, start + ms);
  const samples = samplesOf(overview, rig, start + 2 * HISTORY_MS + 1_000);
  const ages = samples.map(({ atMs }) => start + 2 * HISTORY_MS + 1_000 - atMs);
  expect(ages.at(-1)).toBe(0);
  expect(ages.at(-2)).toBe(1_000);
  expect(ages.at(-3)).toBe(1_000 + SAMPLE_MS);
  expect([samples.length, Math.max(...ages) <= HISTORY_MS]).toEqual([HISTORY_MS / SAMPLE_MS + 1, true]);
  expect(samples[0]).toMatchObject({ running: 1, queued: 0, reservedMemoryBytes: 3 * GIB, reservedCores: 1 });
  const { samples: ofHost } = overview.host(rig.cluster, id, start + 2 * HISTORY_MS + 1_000);
  expect(ofHost).toHaveLength(HISTORY_MS / SAMPLE_MS + 1);
  expect(ofHost.at(-1)).toEqual({
    ...{ atMs: start + 2 * HISTORY_MS + 1_000, reservedMemoryBytes: 3 * GIB, usedMemoryBytes: null },
    ...{ reservedCores: 1, usedCores: null },
  });
  overview.note(rig.cluster, start);
  const atMs = overview.host(rig.cluster, id, start + 1_000).samples.map((sample) => sample.atMs);
  expect(atMs).toEqual([start, start + 1_000]);
});

test('W167: while hosts are known and none is connected, their amounts are unknown and not 0', () => {
  const rig = new CoreRig();
  const amounts = () => {
    const [last] = samplesOf(new Overview(), rig, rig.nowMs).slice(-1);
    return [last?.memoryBytes, last?.reservedMemoryBytes, last?.cores, last?.reservedCores];
  };
  expect(amounts()).toEqual([0, 0, 0, 0]);
  const host = rig.hello(hostFacts('host1'));
  rig.submitInTurn(of(3 * GIB));
  expect(amounts()).toEqual([host.memoryBytes, 3 * GIB, host.cores, 1]);
  rig.disconnect(host);
  expect(amounts()).toEqual([null, null, null, null]);
});

test('W82, W184: a clock that is set back leaves no samples of the future', () => {
  const rig = new CoreRig();
  const overview = new Overview();
  for (const atMs of [1_000_000, 1_100_000, 500_000, 510_000]) overview.note(rig.cluster, atMs);
  expect(samplesOf(overview, rig, 520_000).map(({ atMs }) => atMs)).toEqual([500_000, 520_000]);
});

test('W184: all hosts together have at most 120,000 samples, further apart with more hosts', () => {
  const usage = { memoryBytes: 2 ** 30, cores: 0.25 };
  const host = { ...new CoreRig().hello(hostFacts('host1')), usage };
  for (const [count, periodMs] of [
    [1_000, SAMPLE_MS],
    [1_001, 2 * SAMPLE_MS],
    [10_000, 10 * SAMPLE_MS],
  ] as const) {
    const hosts = new Map(Array.from({ length: count }, (_, at) => [at + 1, { ...host, id: at + 1 }]));
    const history = new HostHistory();
    for (let ms = 0; ms < HISTORY_MS; ms += SAMPLE_MS) history.note(hosts, ms);
    const one = { ...host, id: count };
    const times = history.samples(one, HISTORY_MS).map(({ atMs }) => atMs);
    expect(times.slice(0, -1)).toEqual(
      Array.from({ length: HISTORY_MS / periodMs }, (_, at) => at * periodMs),
    );
    expect((times.length - 1) * count).toBeLessThanOrEqual(120_000);
    expect(history.samples(one, 1)[0]).toMatchObject({ usedMemoryBytes: 2 ** 30, usedCores: 0.25 });
    // A host that joins later has no earlier samples.
    expect(history.samples({ ...host, id: count + 1 }, HISTORY_MS)).toHaveLength(1);
  }
});

test('W92: usage under the quota is reported for users with something running', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('host1'));
  const { userId } = rig.submit(of(2 * GIB));
  rig.submitInTurn(of(100 * GIB));
  expect(usagesOf(rig.cluster)).toEqual([{ userId, executions: 1, memoryBytes: 2 * GIB, cores: 1 }]);
});
