import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readUsage, sampleOf } from '../../../../agent/engine/docker/container-usage.ts';
import { EngineError, type UsageSample } from '../../../../agent/engine/engine.ts';
import { nextReadings, type Readings, runningContainerOf, totalOf } from '../../../../agent/host/usage.ts';
import { UsageMeter } from '../../../../agent/host/usage-meter.ts';
import { Reporter } from '../../../../agent/services/reporter.ts';
import { type AgentRig, agentRig, scratchDir } from '../../../support/agents/agent-rig.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const MIB = 2 ** 20;
const none: Readings = new Map();
const sample = (timeMs: number, cpuMs: number, memoryBytes = MIB): UsageSample => ({
  timeMs,
  cpuMs,
  memoryBytes,
});
const one = [{ id: 'a', startedAtMs: 1_000 }];
const next = (before: Readings, a?: UsageSample, running = one) =>
  nextReadings(running, before, new Map(a ? [['a', a]] : []));

describe('P50: the cores that a container uses', () => {
  const first = next(none, sample(11_000, 5_000));
  const coresOf = (readings: Readings) => readings.get('a')?.cores;

  test('P50: are its cpu time since its start at its first sample', () => {
    expect(coresOf(first)).toBe(0.5);
  });
  test('P50: are the cpu time between two samples from then on', () => {
    expect(coresOf(next(first, sample(21_000, 20_000)))).toBe(1.5);
  });
  test('P50: count from zero where the counter began anew', () => {
    expect(coresOf(next(first, sample(21_000, 2_000)))).toBe(0.2);
  });
  test('P50: stay as they were where a clock was set back, or no sample came', () => {
    expect(coresOf(next(first, sample(9_000, 6_000)))).toBe(0.5);
    expect(next(first)).toEqual(first);
  });
  test('P50: are over the whole time where samples are missing in between', () => {
    expect(coresOf(next(next(first), sample(31_000, 25_000)))).toBe(1);
  });
});

describe('P50: the sum', () => {
  test('P50: is of those that run now: who went is left out, who came counts', () => {
    const before = nextReadings(
      [...one, { id: 'b', startedAtMs: 0 }],
      none,
      new Map([
        ['a', sample(10_000, 0)],
        ['b', sample(10_000, 10_000)],
      ]),
    );
    expect(totalOf(before, 8)).toEqual({ memoryBytes: 2 * MIB, cores: 1 });
    const after = nextReadings(
      [...one, { id: 'c', startedAtMs: 18_000 }],
      before,
      new Map([
        ['a', sample(20_000, 1_234)],
        ['c', sample(20_000, 1_000, 3 * MIB)],
      ]),
    );
    expect(totalOf(after, 8)).toEqual({ memoryBytes: 4 * MIB, cores: 0.623 });
  });
  test('P50: of nothing is nothing, and of a container without a sample so far, too', () => {
    expect(totalOf(none, 8)).toEqual({ memoryBytes: 0, cores: 0 });
    expect(totalOf(next(none), 8)).toEqual({ memoryBytes: 0, cores: 0 });
  });
  test('P50: is never more cores than the host has', () => {
    expect(totalOf(next(none, sample(1_001, 5_000)), 2).cores).toBe(2);
  });
});

describe('P50: what the engine tells', () => {
  const stats = (memory: object, read = '2026-11-21T12:00:00.5Z') =>
    sampleOf({ read, cpu_stats: { cpu_usage: { total_usage: 2_500_000 } }, memory_stats: memory } as never);
  const memoryOf = (memory: object) => stats(memory)?.memoryBytes;

  test('P50: is its clock, cpu time, and memory less what files only keep in the cache', () => {
    const timeMs = Date.parse('2026-11-21T12:00:00.5Z');
    expect(stats({ usage: 10, stats: { inactive_file: 4 } })).toEqual({ timeMs, cpuMs: 2.5, memoryBytes: 6 });
    expect(memoryOf({ usage: 10, stats: { inactive_file: 4, total_inactive_file: 3 } })).toBe(7);
    expect(memoryOf({ usage: 10, stats: { inactive_file: 11 } })).toBe(0);
  });
  test('P50: of a container that does not run is nothing', () => {
    expect(stats({})).toBeUndefined();
    expect(stats({ usage: 1, stats: {} }, '0001-01-01T00:00:00Z')).toBeUndefined();
  });
});

test('P50: a sign of life tells what is known of it, and other reports do not', () => {
  const reporter = new Reporter();
  const usage = { memoryBytes: 1, cores: 2 };
  expect(reporter.everything()).not.toHaveProperty('usage');
  reporter.setUsage(usage);
  reporter.observe({ service: 1, generation: 1, state: 'gone' });
  expect(reporter.changes()).not.toHaveProperty('usage');
  expect(reporter.everything().usage).toEqual(usage);
  reporter.setUsage(undefined);
  expect(reporter.everything()).not.toHaveProperty('usage');
});

describe('P51: a round', () => {
  const meterOf = (usage: (signal: AbortSignal) => Promise<Map<string, UsageSample>>, timeoutMs = 60_000) => {
    const found: unknown[] = [];
    const log: string[] = [];
    const meter = new UsageMeter({
      engine: { usage: (_, signal) => usage(signal) },
      running: () => one,
      cores: 2,
      found: (told) => found.push(told),
      timeoutMs,
      log: (event) => log.push(event),
    });
    return { meter, found, log };
  };

  test('P51: that is still under way is the only one, however often one is due', async () => {
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
  test('P51: asks first for whom no sample came the last time', async () => {
    const asked: string[][] = [];
    const meter = new UsageMeter({
      engine: {
        usage: async (ids) => {
          asked.push([...ids]);
          return new Map(ids.slice(0, 1).map((id) => [id, sample(2_000 + asked.length, 500)]));
        },
      },
      running: () => ['a', 'b', 'c'].map((id) => ({ id, startedAtMs: 1_000 })),
      cores: 2,
      found: () => {},
      timeoutMs: 60_000,
      log: () => expect.unreachable(),
    });
    for (let round = 0; round < 4; round++) await meter.measure();
    expect(asked.map(([first]) => first)).toEqual(['a', 'b', 'c', 'a']);
  });
  test('P51: is given up after its bound', async () => {
    const { meter, found } = meterOf(
      (signal) => new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason))),
      1,
    );
    await meter.measure();
    expect(found).toEqual([undefined]);
  });
  test('P51: that finds nothing out is told to the log once, until one does again', async () => {
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
});

test.each(['1.40', '0.99', ''])('P50: an engine of API %s is too old to be asked', async (ApiVersion) => {
  const docker = { version: async () => ({ ApiVersion }) } as never;
  const asked = readUsage(docker, ['a'], new AbortController().signal);
  await expect(asked).rejects.toThrow(/cannot measure usage at once/);
});

test('P50: only what runs is measured', () => {
  const key = { service: 1, generation: 1, containerId: 'a' };
  const running = { ...key, ipAddress: '', ports: [], startedAtMs: 5 };
  expect(runningContainerOf({ ...running, state: 'running' })).toEqual([{ id: 'a', startedAtMs: 5 }]);
  expect(runningContainerOf({ ...key, state: 'created' })).toEqual([]);
});

describe('an agent', () => {
  let scratch: Awaited<ReturnType<typeof scratchDir>>;
  let engine: FakeEngine;
  let rig: AgentRig;
  beforeEach(async () => {
    scratch = await scratchDir();
    engine = new FakeEngine(`${scratch.path}/engine`);
    rig = await agentRig(engine, { dataDir: `${scratch.path}/data` });
  });
  afterEach(async () => {
    await rig.close();
    await scratch.remove();
  });

  test('P50: tells with its signs of life what its own containers use', async () => {
    engine.used.set('c1', sample(10_001, 2_500));
    engine.used.set("somebody else's", sample(10_001, 10_000));
    const connection = await rig.peer.connection();
    connection.welcome([assignment()], { reportPeriodMs: 20 });
    await eventually(() => connection.reports().some(({ usage }) => usage?.cores === 0.25));
    expect(connection.reports().at(-1)?.usage).toEqual({ memoryBytes: MIB, cores: 0.25 });
    engine.exit('c1', 0);
    await eventually(() => connection.reports().at(-1)?.usage?.cores === 0);
  });
  test('P51: starts, stops and says that it lives while the engine does not tell what containers use', async () => {
    engine.usage = () => new Promise(() => {});
    const connection = await rig.peer.connection();
    connection.welcome([assignment()], { reportPeriodMs: 20 });
    await connection.reported(1, 'running');
    const before = connection.reports().length;
    await eventually(() => connection.reports().length > before + 2);
    connection.stop(assignment());
    await connection.reported(1, 'gone');
    expect(connection.reports().some(({ usage }) => usage?.cores)).toBe(false);
  });
});
