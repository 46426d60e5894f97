import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { clockAheadMs, clockText } from '../../../../agent/host/clock-check.ts';
import { Conditions } from '../../../../agent/host/conditions.ts';
import { type DiskSpace, lowText, probeDisk, watchDisk } from '../../../../agent/host/disk.ts';
import { Reporter } from '../../../../agent/services/reporter.ts';
import { type Condition, conditionSchema } from '../../../../shared/protocol/up.ts';
import { type AgentRig, agentRig, scratchDir } from '../../../support/agents/agent-rig.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const GIB = 2 ** 30;
const lowDisk = { kind: 'low-disk', text: '0.4 GiB free at /data' };

describe('P41: the clocks', () => {
  test.each([
    ['agree where the answer may have been written at any moment of the exchange', 0, 30_000, 12_000, 0],
    ['differ by what the way there can not explain', 20_000, 21_000, 12_000, 8_000],
    ['differ by what the way back can not explain', 1_000, 2_000, 12_000, -10_000],
  ])('P41: %s', (_, sentMs, receivedMs, theirMs, expected) => {
    expect(clockAheadMs({ sentMs, receivedMs, theirMs })).toBe(expected);
  });

  const at = (aheadMs: number, wasTold = false) =>
    clockText({ sentMs: aheadMs, receivedMs: aheadMs, theirMs: 0 }, wasTold);
  test('P41: are worth a word beyond 5 s, and until they are within 4 s again', () => {
    expect([at(5_000), at(-5_000), at(4_000, true), at(-4_000, true)]).toEqual(Array(4).fill(undefined));
    expect(at(5_600)).toBe("the host's clock is 6 s ahead of the control plane's: set it by NTP");
    expect(at(-70_000)).toBe("the host's clock is 70 s behind the control plane's: set it by NTP");
    expect(at(4_500, true)).toContain('ahead');
  });
});

describe('P42: a folder', () => {
  const room = (freeBytes: number, freeInodesShare: number | null = null): DiskSpace => ({
    freeBytes,
    freeInodesShare,
  });
  const low = (of: DiskSpace, wasLow = false) => lowText('/data', of, GIB, wasLow);
  test('P42: is low with less than the least room, until there is a quarter more', () => {
    expect(low(room(GIB))).toBeUndefined();
    expect(low(room(0.4 * GIB))).toBe('0.4 GiB free at /data');
    expect(low(room(1.2 * GIB), true)).toBe('1.2 GiB free at /data');
    expect(low(room(1.25 * GIB), true)).toBeUndefined();
  });
  test('P42: is low with less than 1 % of its inodes', () => {
    expect(low(room(9 * GIB, 0.01))).toBeUndefined();
    expect(low(room(9 * GIB, 0.004))).toBe('0.4 % of the inodes free at /data');
    expect(low(room(9 * GIB, 0.012), true)).toContain('inodes');
  });
  test('P42: that is there has room, one that is not has none to be told', async () => {
    expect(await probeDisk('/')).toMatchObject({ freeBytes: expect.any(Number) });
    expect(await probeDisk('/no/such/folder')).toBeUndefined();
  });

  test('P42: is looked at again and again; of two the one that is low is told', async () => {
    const rooms: Record<string, DiskSpace | undefined> = { '/one': undefined, '/two': room(GIB) };
    const found: (string | undefined)[] = [];
    const end = await watchDisk({
      folders: ['/one', '/two'],
      minBytes: GIB,
      probe: async (folder) => rooms[folder],
      found: (one) => found.push(one),
      everyMs: 1,
    });
    onTestFinished(end);
    expect(found).toEqual([undefined]);
    rooms['/two'] = room(0);
    await eventually(() => found.at(-1) === '0.0 GiB free at /two');
    rooms['/two'] = room(1.1 * GIB);
    await eventually(() => found.at(-1) === '1.1 GiB free at /two');
    rooms['/two'] = room(2 * GIB);
    await eventually(() => found.at(-1) === undefined);
  });
  test('P42: that hangs is not asked again while it does', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const answers: ((room: undefined) => void)[] = [];
    const probe = () => new Promise<undefined>((done) => answers.push(done));
    const began = watchDisk({ folders: ['/one'], minBytes: GIB, probe, found: () => {}, everyMs: 10 });
    answers[0]?.(undefined);
    onTestFinished(await began);
    await vi.advanceTimersByTimeAsync(100);
    expect(answers).toHaveLength(2);
    answers[1]?.(undefined);
    await vi.advanceTimersByTimeAsync(10);
    expect(answers).toHaveLength(3);
  });
  test('P42: is not looked at where the least is 0', async () => {
    const probe = () => expect.unreachable();
    (await watchDisk({ folders: ['/'], minBytes: 0, probe, found: probe, everyMs: 1 }))();
  });
});

test('P40: what comes and goes is told to the log once, and each change of words to the reports', () => {
  const log: string[] = [];
  const told: object[] = [];
  const conditions = new Conditions({
    log: (event) => log.push(event),
    changed: (all) => told.push(all),
  });
  for (const text of [undefined, 'one', 'one', 'two', undefined]) conditions.set('low-disk', text);
  expect(log).toEqual(['condition.began', 'condition.ended']);
  expect(told).toEqual([[{ kind: 'low-disk', text: 'one' }], [{ kind: 'low-disk', text: 'two' }], []]);
});

test('P40: of words of any length as many are told as a message takes', () => {
  const told: Condition[][] = [];
  const conditions = new Conditions({ log: () => {}, changed: (all) => told.push([...all]) });
  conditions.set('no-engine', '\u{1f40b}'.repeat(300));
  expect(told.flat()[0]?.text).toMatch(/^(\u{1f40b}){240,}\.\.\.$/u);
  expect(conditionSchema.safeParse(told.flat()[0]).success).toBe(true);
});

test('P40: reports tell all conditions when they change, and with every sign of life', () => {
  const reporter = new Reporter();
  expect(reporter.changes()).toBeUndefined();
  expect(reporter.everything().conditions).toEqual([]);
  reporter.setConditions([lowDisk]);
  expect(reporter.changes()?.conditions).toEqual([lowDisk]);
  reporter.observe({ service: 1, generation: 1, state: 'gone' });
  expect(reporter.changes()).not.toHaveProperty('conditions');
  expect(reporter.everything().conditions).toEqual([lowDisk]);
  reporter.setConditions([]);
  expect(reporter.changes()?.conditions).toEqual([]);
});

describe('an agent', () => {
  let scratch: Awaited<ReturnType<typeof scratchDir>>;
  let engine: FakeEngine;
  let rig: AgentRig;
  let offsetMs = 0;
  beforeEach(async () => {
    offsetMs = 0;
    scratch = await scratchDir();
    engine = new FakeEngine(`${scratch.path}/engine`);
    const nowMs = () => Date.now() + offsetMs;
    rig = await agentRig(engine, { dataDir: `${scratch.path}/data`, nowMs });
  });
  afterEach(async () => {
    await rig.close();
    await scratch.remove();
  });

  test('P40: says in each hello what is wrong', async () => {
    const first = await rig.peer.connection();
    expect((await first.hello()).conditions).toEqual([]);
    first.welcome();
    rig.conditions.set('low-disk', lowDisk.text);
    await eventually(() => first.reports().some(({ conditions }) => conditions?.length === 1));
    first.terminate();
    expect((await (await rig.peer.connection(2)).hello()).conditions).toEqual([lowDisk]);
  });

  test('P41: compares the clocks at the welcome, and again with each answer that tells the time', async () => {
    const connection = await rig.peer.connection();
    await connection.hello();
    connection.welcome([], { reportPeriodMs: 20 });
    await eventually(() => connection.reports().length > 1);
    expect(rig.conditions.textOf('clock-skew')).toBeUndefined();
    const answer = () =>
      connection.send({
        type: 'ack',
        sequence: connection.reports().at(-1)?.sequence ?? 1,
        timeMs: Date.now(),
      });
    offsetMs = 60_000;
    await eventually(() => {
      answer();
      return rig.conditions.textOf('clock-skew') !== undefined;
    });
    expect(rig.conditions.textOf('clock-skew')).toMatch(/^the host's clock is (59|60) s ahead/);
    await eventually(() =>
      connection.reports().some(({ conditions }) => conditions?.[0]?.kind === 'clock-skew'),
    );
    offsetMs = 0;
    await eventually(() => {
      answer();
      return rig.conditions.textOf('clock-skew') === undefined;
    });
  });

  test('P42: that is low on disk pulls no image, but starts what needs none', async () => {
    const connection = await rig.peer.connection();
    rig.conditions.set('low-disk', lowDisk.text);
    connection.welcome([assignment(), assignment({ service: 2, image: 'berth/none:1' })]);
    await connection.reported(1, 'running');
    expect(await connection.reported(2, 'failed')).toMatchObject({
      temporary: true,
      message: 'the host is low on disk: 0.4 GiB free at /data',
    });
    expect(engine.calls.filter((call) => call.startsWith('pull'))).toEqual([]);
  });
});
