import { expect, onTestFinished, test, vi } from 'vitest';
import type { Container } from '../../../../../agent/engine/engine.ts';
import { HealthChecks } from '../../../../../agent/engine/health/health-checks.ts';
import { type Finding, judge, pauseMs, unjudged } from '../../../../../agent/engine/health/judge.ts';
import type { Target } from '../../../../../agent/engine/health/target.ts';
import type { HealthCheck } from '../../../../../shared/protocol/health.ts';

const check: HealthCheck = {
  ...{ kind: 'tcp', port: 80, intervalMs: 10_000, timeoutMs: 1_000 },
  ...{ retries: 3, startPeriodMs: 30_000 },
};
const passed: Finding = { result: 'passed', detail: 'open' };
const failed: Finding = { result: 'failed', detail: 'refused' };
const unknown: Finding = { result: 'unknown', detail: '' };

/** The states after each of the findings, all of which are this long after the start. */
function statesOf(findings: readonly Finding[], ageMs: number): string[] {
  let judgement = unjudged;
  return findings.map((finding) => {
    judgement = judge(judgement, finding, check, ageMs);
    return `${judgement.health.state} ${judgement.health.detail}`;
  });
}

test('P210: as many failures one after the other as there are retries make a container unhealthy, and a success healthy', () => {
  const late = 30_000;
  const starting = 'starting refused';
  expect(statesOf([failed, failed, failed], late)).toEqual([starting, starting, 'unhealthy refused']);
  expect(statesOf([passed, failed, failed, passed, failed, failed, failed], late)).toEqual([
    ...Array<string>(6).fill('healthy open'),
    'unhealthy refused',
  ]);
  expect(statesOf([failed, failed, failed, passed], late).at(-1)).toBe('healthy open');
  // Failures of the start period do not count until a check succeeds, and what is unknown never does.
  expect(statesOf(Array<Finding>(9).fill(failed), 29_999).at(-1)).toBe(starting);
  expect(statesOf([passed, failed, failed, failed], 1_000).at(-1)).toBe('unhealthy refused');
  expect(statesOf([failed, failed, ...Array<Finding>(9).fill(unknown)], late).at(-1)).toBe(starting);
});

test('P210: a container that starts is checked more often, but a command no more than every 5 s', () => {
  expect(pauseMs(unjudged, check, 0)).toBe(1_000);
  expect(pauseMs(unjudged, check, 30_000)).toBe(10_000);
  expect(pauseMs({ ...unjudged, hasPassed: true }, check, 0)).toBe(10_000);
  expect(pauseMs(unjudged, { ...check, kind: 'image' }, 0)).toBe(5_000);
});

const running = (id: string, startedAtMs = 0): Container => ({
  ...{ service: 1, generation: 1, id, state: 'running', ipAddress: '', ports: [], startedAtMs },
});
const label = { 'berth.health': JSON.stringify(check) };
/** On a bridge with this address, or on these networks. */
const infoOf = (Id: string, bridge: string | Record<string, object> = '172.17.0.2', Labels = label) => {
  const Networks = typeof bridge === 'string' ? { bridge: { IPAddress: bridge } } : bridge;
  return { Id, Image: 'sha256:1', Config: { Labels }, NetworkSettings: { Networks } } as never;
};

/** Checks that find what the test answers, with the targets so far. `clock`: the time of the machine. */
function checks(finding: Finding | Promise<Finding> = passed, clock = { nowMs: 60_000 }) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const beganMs = performance.now();
  const targets: Target[] = [];
  const forgotten: string[] = [];
  const health = new HealthChecks({
    run: async (_, target) => {
      targets.push(target);
      return finding;
    },
    forgotten: (id) => forgotten.push(id),
    nowMs: () => clock.nowMs,
    uptimeMs: () => performance.now() - beganMs,
  });
  return { health, targets, forgotten };
}
test('P211: a container of an overlay network is checked at the address that its own host can reach, and one with an IPv6 address only at that', async () => {
  const { health, targets } = checks();
  const networks = { 'a-overlay': { IPAddress: '10.9.0.2' }, bridge: { IPAddress: '172.17.0.2' } };
  const labels = { ...label, 'berth.overlay': 'a-overlay' };
  health.withHealth(running('c1'), infoOf('c1', networks, labels));
  const onlyIpv6 = { bridge: { IPAddress: '', GlobalIPv6Address: 'fd00::2' } };
  health.withHealth(running('c2'), infoOf('c2', onlyIpv6));
  await vi.advanceTimersByTimeAsync(0);
  expect(targets.map(({ address }) => address)).toEqual(['172.17.0.2', 'fd00::2']);
});

test('P213: checks go on until the container ends, and each change of its health is reported once', async () => {
  const { health, targets, forgotten } = checks(failed);
  const changed: string[] = [];
  health.onChange((id) => changed.push(id));
  const info = infoOf('c1');
  expect(health.withHealth(running('c1'), info)).toMatchObject({ health: { state: 'starting', detail: '' } });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(health.withHealth(running('c1'), info)).toMatchObject({ health: { state: 'unhealthy' } });
  expect(health.stateOf('c1')).toBe('unhealthy');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(targets).toHaveLength(5);
  // The first detail, and the verdict.
  expect(changed).toEqual(['c1', 'c1']);
  health.forget('c1');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(targets).toHaveLength(5);
  expect(forgotten).toEqual(['c1']);
});

test('P213: a label that is no check, as an image may have it, is ignored', () => {
  const { health, targets } = checks();
  for (const text of ['', 'not JSON', '{"kind":"tcp"}', JSON.stringify({ ...check, retries: 1e9 })]) {
    const container = running('c1');
    expect(health.withHealth(container, infoOf('c1', {}, { 'berth.health': text }))).toBe(container);
  }
  expect(targets).toEqual([]);
});

test('P213: containers that vanished while nobody watched are not checked any more', async () => {
  const { health, targets, forgotten } = checks();
  for (const id of ['c1', 'c2']) health.withHealth(running(id), infoOf(id));
  const listed = health.listing();
  // It has started since the listing was requested.
  health.withHealth(running('c3'), infoOf('c3', '172.17.0.3'));
  listed(new Set(['c2']));
  expect(forgotten).toEqual(['c1']);
  expect(['c1', 'c2', 'c3'].map((id) => health.stateOf(id))).toEqual([undefined, 'starting', 'starting']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(new Set(targets.slice(3).map(({ id }) => id))).toEqual(new Set(['c2', 'c3']));
});

test('P211: a container that was started again, or has another address now, is checked at its own address', async () => {
  const { health, targets } = checks(failed);
  health.withHealth(running('c1'), infoOf('c1'));
  await vi.advanceTimersByTimeAsync(10_000);
  health.withHealth(running('c1'), infoOf('c1', '172.17.0.3'));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(targets.map(({ address }) => address)).toEqual(['172.17.0.2', '172.17.0.2', '172.17.0.3']);
  expect(health.stateOf('c1')).toBe('unhealthy');
  // With what the earlier start has shown it would be unhealthy at once.
  const again = health.withHealth(running('c1', 20_000), infoOf('c1', '172.17.0.4'));
  expect(again).toMatchObject({ health: { state: 'starting', detail: '' } });
  await vi.advanceTimersByTimeAsync(0);
  expect(targets.at(-1)?.address).toBe('172.17.0.4');
});

test('P210: a clock that is set changes neither the end of the start period nor a verdict', async () => {
  const clock = { nowMs: 0 };
  const { health } = checks(failed, clock);
  health.withHealth(running('c1'), infoOf('c1'));
  for (const step of [86_400_000, -86_400_000]) {
    clock.nowMs += step;
    await vi.advanceTimersByTimeAsync(14_000);
    expect(health.stateOf('c1')).toBe('starting');
  }
  await vi.advanceTimersByTimeAsync(2_000 + 2 * 10_000);
  expect(health.stateOf('c1')).toBe('unhealthy');
});

test('P213: checks of a user that last as long as they may leave room for those of others', async () => {
  const { health, targets } = checks(new Promise<Finding>(() => {}));
  const command: HealthCheck = { ...check, kind: 'command', words: ['sleep'] };
  for (const [kind, one] of Object.entries({ tcp: check, command })) {
    const of = (owner: string) => ({ 'berth.health': JSON.stringify(one), 'berth.owner': owner });
    const begin = (id: string, owner: string) =>
      health.withHealth(running(id), infoOf(id, undefined, of(owner)));
    for (let at = 0; at < 500; at++) begin(`${kind}${at}`, 'many');
    begin(`${kind} few`, 'few');
  }
  await vi.advanceTimersByTimeAsync(0);
  const begun = (kind: string, owner: string) =>
    targets.filter((target) => target.id.startsWith(kind) && target.owner === owner).length;
  expect([begun('tcp', 'many'), begun('tcp', 'few')]).toEqual([48, 1]);
  expect([begun('command', 'many'), begun('command', 'few')]).toEqual([3, 1]);
});

test('P213: a check that ends after its container has gone leaves nothing behind', async () => {
  const { promise, resolve } = Promise.withResolvers<Finding>();
  const { health, forgotten } = checks(promise);
  health.withHealth(running('c1'), infoOf('c1'));
  await vi.advanceTimersByTimeAsync(0);
  health.forget('c1');
  resolve(failed);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(forgotten).toEqual(['c1', 'c1']);
  expect(health.stateOf('c1')).toBeUndefined();
});
