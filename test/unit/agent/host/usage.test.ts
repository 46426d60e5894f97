import { expect, test } from 'vitest';
import { sampleOf } from '../../../../agent/engine/docker/container-usage.ts';
import { type Engine, EngineError, type UsageSample } from '../../../../agent/engine/engine.ts';
import { nextReadings, type Readings, runningContainerOf, totalOf } from '../../../../agent/host/usage.ts';
import { UsageHistory } from '../../../../agent/host/usage-history.ts';
import { UsageMeter } from '../../../../agent/host/usage-meter.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const MIB = 2 ** 20;
const none: Readings = new Map();
const sample = (timeMs: number, cpuMs: number, memoryBytes = MIB): UsageSample => {
  return { timeMs, cpuMs, memoryBytes };
};
const one = [{ id: 'a', service: 1, generation: 1, startedAtMs: 1_000 }];
const next = (before: Readings, a?: UsageSample, running = one) =>
  nextReadings(running, before, new Map(a ? [['a', a]] : []));

const first = next(none, sample(11_000, 5_000));
const coresOf = (readings: Readings) => readings.get('a')?.cores;

test('P50: the cores are those of the CPU time between two samples, and stay without one or if a clock was set back', () => {
  expect(coresOf(first)).toBe(0.5);
  expect(coresOf(next(first, sample(21_000, 20_000)))).toBe(1.5);
  expect(coresOf(next(next(first), sample(31_000, 25_000)))).toBe(1);
  // A counter that was reset counts from zero.
  expect(coresOf(next(first, sample(21_000, 2_000)))).toBe(0.2);
  expect(coresOf(next(first, sample(9_000, 6_000)))).toBe(0.5);
  expect(coresOf(next(first, sample(11_000, 6_000)))).toBe(0.5);
  expect(coresOf(next(none, sample(500, 100)))).toBe(0);
  expect(next(first)).toEqual(first);
});

test('P50: the sum has new containers, leaves out ended ones, and never exceeds the cores of the host', () => {
  const samples = (second: string, ofA: UsageSample, ofSecond: UsageSample) =>
    new Map(Object.entries({ a: ofA, [second]: ofSecond }));
  const running = (id: string, startedAtMs: number) => [...one, { id, startedAtMs }];
  const first = samples('b', sample(10_000, 0), sample(10_000, 10_000));
  const before = nextReadings(running('b', 0), none, first);
  expect(totalOf(before, 8)).toEqual({ memoryBytes: 2 * MIB, cores: 1 });
  const second = samples('c', sample(20_000, 1_234), sample(20_000, 1_000, 3 * MIB));
  const after = nextReadings(running('c', 18_000), before, second);
  expect(totalOf(after, 8)).toEqual({ memoryBytes: 4 * MIB, cores: 0.623 });
  for (const nothing of [none, next(none)]) expect(totalOf(nothing, 8)).toEqual({ memoryBytes: 0, cores: 0 });
  expect(totalOf(next(none, sample(1_001, 5_000)), 2).cores).toBe(2);
});

test('P50: a sample has the time of the engine, the CPU time, and the memory without the cache of inactive files', () => {
  const sampled = (memory_stats: object, read = '2026-11-21T12:00:00.5Z') =>
    sampleOf({ read, cpu_stats: { cpu_usage: { total_usage: 2_500_000 } }, memory_stats } as never);
  const timeMs = Date.parse('2026-11-21T12:00:00.5Z');
  const memory = { usage: 10, stats: { inactive_file: 4 } };
  expect(sampled(memory)).toEqual({ timeMs, cpuMs: 2.5, memoryBytes: 6 });
  const both = sampled({ usage: 10, stats: { inactive_file: 4, total_inactive_file: 3 } });
  expect(both?.memoryBytes).toBe(7);
  expect(sampled({ usage: 10, stats: { inactive_file: 11 } })?.memoryBytes).toBe(0);
  // A container that is not running.
  expect(sampled({})).toBeUndefined();
  expect(sampled({ usage: 1, stats: {} }, '0001-01-01T00:00:00Z')).toBeUndefined();
});

const meterOf = (usage: Engine['usage'], timeoutMs = 60_000, ids = ['a']) => {
  const found: unknown[] = [];
  const log: string[] = [];
  const meter = new UsageMeter({
    engine: { usage },
    running: () => ids.map((id, at) => ({ id, service: at, generation: 1, startedAtMs: 1_000 })),
    cores: 2,
    found: (usage) => found.push(usage),
    history: new UsageHistory(),
    uptimeMs: () => 0,
    timeoutMs,
    log: (event) => log.push(event),
  });
  return { meter, found, log };
};

test('P51: only one round is in progress, however often one is due', async () => {
  const answer = Promise.withResolvers<Map<string, UsageSample>>();
  let calls = 0;
  const { meter, found } = meterOf(() => {
    calls += 1;
    return answer.promise;
  });
  const rounds = [meter.measure(), meter.measure(), meter.measure()];
  answer.resolve(new Map([['a', sample(2_000, 500)]]));
  await Promise.all(rounds);
  expect([calls, found]).toEqual([1, [{ memoryBytes: MIB, cores: 0.5 }]]);
});
test('P51: a round begins with the containers whose samples were missing', async () => {
  const requested: string[][] = [];
  const usage: Engine['usage'] = async (ids) => {
    requested.push([...ids]);
    return new Map(ids.slice(0, 1).map((id) => [id, sample(2_000 + requested.length, 500)]));
  };
  const { meter, log } = meterOf(usage, 60_000, ['a', 'b', 'c']);
  for (let round = 0; round < 4; round++) await meter.measure();
  expect(requested.map(([first]) => first)).toEqual(['a', 'b', 'c', 'a']);
  expect(log).toEqual([]);
});
test('P51: a round is aborted at its time limit', async () => {
  const hangs: Engine['usage'] = (_, signal) =>
    new Promise((_done, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
  const { meter, found } = meterOf(hangs, 1);
  await meter.measure();
  expect(found).toEqual([undefined]);
});
test('P51: the first failed round is logged, and the next one only after a success', async () => {
  let fails = true;
  const { meter, found, log } = meterOf(async () => {
    if (fails) throw new EngineError('unreachable', 'no answer');
    return new Map();
  });
  await meter.measure();
  await meter.measure();
  fails = false;
  await meter.measure();
  expect(log).toEqual(['usage.unavailable']);
  expect(found).toEqual([undefined, undefined, { memoryBytes: 0, cores: 0 }]);
});

test('P50: only running containers are measured', () => {
  const key = { service: 1, generation: 1, containerId: 'a' };
  const running = { ...key, ipAddress: '', ports: [], startedAtMs: 1_000 };
  expect(runningContainerOf({ ...running, state: 'running' })).toEqual(one);
  expect(runningContainerOf({ ...key, state: 'created' })).toEqual([]);
});

test('P50: the agent reports the usage of its own containers with its signs of life', async () => {
  const machine = new AgentMachine();
  const { engine } = machine;
  engine.used.set('c1', sample(10_001, 2_500));
  engine.used.set('not-ours', sample(10_001, 10_000));
  const connection = await machine.welcome([assignment()], { reportPeriodMs: 20 });
  await eventually(() => connection.reports().some(({ usage }) => usage?.cores === 0.25));
  expect(connection.reports().at(-1)?.usage).toEqual({ memoryBytes: MIB, cores: 0.25 });
  engine.exit('c1', 0);
  await eventually(() => connection.reports().at(-1)?.usage?.cores === 0);
});
test('P51: the agent starts and stops services and sends signs of life while the engine returns no usage', async () => {
  const machine = new AgentMachine();
  machine.engine.usage = () => new Promise(() => {});
  const connection = await machine.run([assignment()], { reportPeriodMs: 20 });
  const before = connection.reports().length;
  await eventually(() => connection.reports().length > before + 2);
  connection.stop(assignment());
  await connection.reported(1, 'gone');
  expect(connection.reports().some(({ usage }) => usage?.cores)).toBe(false);
});
