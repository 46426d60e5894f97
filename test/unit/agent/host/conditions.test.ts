import { expect, onTestFinished, test, vi } from 'vitest';
import { clockAheadMs, clockText } from '../../../../agent/host/clock-check.ts';
import { Conditions } from '../../../../agent/host/conditions.ts';
import { type DiskSpace, lowText, probeDisk, watchDisk } from '../../../../agent/host/disk.ts';
import { type Condition, conditionSchema } from '../../../../shared/protocol/up.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const GIB = 2 ** 30;
const lowDisk = { kind: 'low-disk', text: '0.4 GiB free at /data' };

test('P41: the clocks differ by what no way explains, and the condition begins beyond 5 s and ends within 4 s', () => {
  for (const [sentMs, receivedMs, expected] of [
    [0, 30_000, 0],
    [20_000, 21_000, 8_000],
    [1_000, 2_000, -10_000],
  ] as const)
    expect(clockAheadMs({ sentMs, receivedMs, theirMs: 12_000 })).toBe(expected);
  const at = (aheadMs: number, wasSet = false) =>
    clockText({ sentMs: aheadMs, receivedMs: aheadMs, theirMs: 0 }, wasSet);
  expect([at(5_000), at(-5_000), at(4_000, true), at(-4_000, true)]).toEqual(Array(4).fill(undefined));
  expect(at(5_600)).toBe("the host's clock is 6 s ahead of the control plane's: set it by NTP");
  expect(at(-70_000)).toBe("the host's clock is 70 s behind the control plane's: set it by NTP");
  expect(at(4_500, true)).toContain('ahead');
});

const space = (freeBytes: number, freeInodesShare: number | null = null): DiskSpace => {
  return { freeBytes, freeInodesShare };
};
test('P42: a folder is low below the limit, until a quarter more is free, and with less than 1 % of its inodes free', () => {
  const low = (of: DiskSpace, wasLow = false) => lowText('/data', of, GIB, wasLow);
  expect(low(space(GIB))).toBeUndefined();
  expect(low(space(0.4 * GIB))).toBe('0.4 GiB free at /data');
  expect(low(space(1.2 * GIB), true)).toBe('1.2 GiB free at /data');
  expect(low(space(1.25 * GIB), true)).toBeUndefined();
  expect(low(space(9 * GIB, 0.01))).toBeUndefined();
  expect(low(space(9 * GIB, 0.004))).toBe('0.4 % of the inodes free at /data');
  expect(low(space(9 * GIB, 0.012), true)).toContain('inodes');
});
test('P42: the probe returns the free space of an existing folder, and no folder is checked with a limit of 0', async () => {
  expect(await probeDisk('/')).toMatchObject({ freeBytes: expect.any(Number) });
  expect(await probeDisk('/no/such/folder')).toBeUndefined();
  const probe = () => expect.unreachable();
  (await watchDisk({ folders: ['/'], minBytes: 0, probe, found: probe, everyMs: 1 }))();
});

test('P42: the folders are checked repeatedly, and the one that is low is reported', async () => {
  const spaces: Record<string, DiskSpace | undefined> = { '/one': undefined, '/two': space(GIB) };
  const found: (string | undefined)[] = [];
  const end = await watchDisk({
    folders: ['/one', '/two'],
    minBytes: GIB,
    probe: async (folder) => spaces[folder],
    found: (one) => found.push(one),
    everyMs: 1,
  });
  onTestFinished(end);
  expect(found).toEqual([undefined]);
  spaces['/two'] = space(0);
  await eventually(() => found.at(-1) === '0.0 GiB free at /two');
  spaces['/two'] = space(1.1 * GIB);
  await eventually(() => found.at(-1) === '1.1 GiB free at /two');
  spaces['/two'] = space(2 * GIB);
  await eventually(() => found.at(-1) === undefined);
});
test('P42: a folder that hangs is not checked again while it hangs', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const answers: ((space: undefined) => void)[] = [];
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

test('P40: the log has each begin and end once, and the reports each change of a text, cut to what a message may have', () => {
  const log: string[] = [];
  const changes: Condition[][] = [];
  const conditions = new Conditions({
    log: (event) => log.push(event),
    changed: (all) => changes.push([...all]),
  });
  for (const text of [undefined, 'one', 'one', 'two', undefined]) conditions.set('low-disk', text);
  expect(log).toEqual(['condition.began', 'condition.ended']);
  expect(changes).toEqual([[{ kind: 'low-disk', text: 'one' }], [{ kind: 'low-disk', text: 'two' }], []]);
  conditions.set('no-engine', '\u{1f40b}'.repeat(300));
  const [cut] = changes.at(-1) ?? [];
  expect(cut?.text).toMatch(/^(\u{1f40b}){240,} \.\.\. \(cut\)$/u);
  expect(conditionSchema.safeParse(cut).success).toBe(true);
});

test('P40: the agent sends its conditions in each hello', async () => {
  const machine = new AgentMachine();
  const connection = await machine.begin();
  const { conditions, peer } = machine.rig;
  expect((await connection.hello()).conditions).toEqual([]);
  connection.welcome();
  conditions.set('low-disk', lowDisk.text);
  await eventually(() => connection.reports().some(({ conditions }) => conditions?.length === 1));
  connection.terminate();
  expect((await (await peer.connection(2)).hello()).conditions).toEqual([lowDisk]);
});

test('P41: the agent compares the clocks at the welcome, and again at each answer that carries the time', async () => {
  let offsetMs = 0;
  const machine = new AgentMachine({ nowMs: () => Date.now() + offsetMs });
  const connection = await machine.welcome([], { reportPeriodMs: 20 });
  const skew = () => machine.rig.conditions.textOf('clock-skew');
  await eventually(() => connection.reports().length > 1);
  expect(skew()).toBeUndefined();
  const answer = () => {
    const sequence = connection.reports().at(-1)?.sequence ?? 1;
    connection.send({ type: 'ack', sequence, timeMs: Date.now() });
  };
  offsetMs = 60_000;
  await eventually(() => {
    answer();
    return skew() !== undefined;
  });
  expect(skew()).toMatch(/^the host's clock is (59|60) s ahead/);
  await eventually(() =>
    connection.reports().some(({ conditions }) => conditions?.[0]?.kind === 'clock-skew'),
  );
  offsetMs = 0;
  await eventually(() => {
    answer();
    return skew() === undefined;
  });
});

test('P42: an agent that is low on disk pulls no image, but starts services that need no pull', async () => {
  const machine = new AgentMachine();
  const connection = await machine.begin();
  machine.rig.conditions.set('low-disk', lowDisk.text);
  connection.welcome([assignment(), assignment({ service: 2, image: 'berth/none:1' })]);
  await connection.reported(1, 'running');
  expect(await connection.reported(2, 'failed')).toMatchObject({
    temporary: true,
    message: 'the host is low on disk: 0.4 GiB free at /data',
  });
  expect(machine.engine.calls.filter((call) => call.startsWith('pull'))).toEqual([]);
});
