import { expect, onTestFinished, test, vi } from 'vitest';
import { UsageHistory } from '../../../../agent/host/usage-history.ts';
import { startUsageRounds } from '../../../../agent/host/usage-meter.ts';
import { UsageSeries } from '../../../../agent/host/usage-series.ts';
import {
  MAX_USAGE_BYTES,
  MAX_USAGE_POINTS,
  readUsageLines,
  type UsagePoint,
  usageLines,
} from '../../../../shared/protocol/usage-lines.ts';
import { FRAME_HEADER_BYTES } from '../../../../shared/streams/log-frames.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const point = (seconds: number, cores = 1, memoryBytes = 1): UsagePoint => {
  return { timeMs: seconds * 1_000, memoryBytes, cores };
};

/** The series after samples every `everyS` seconds, from a start at 0. */
function seriesOf(count: number, everyS: number, coresAt: (nth: number) => number = () => 1): UsageSeries {
  const series = new UsageSeries(0);
  for (let nth = 1; nth <= count; nth++) series.note(point(nth * everyS, coresAt(nth), nth));
  return series;
}

test('P229: at first each 30 s have a point, with the highest memory and the average cores, the last one up to date', () => {
  const timesOf = ({ usage }: UsageSeries) => usage.points.map(({ timeMs }) => timeMs);
  expect(timesOf(seriesOf(7, 10))).toEqual([30_000, 60_000, 70_000]);
  expect(timesOf(seriesOf(2, 30))).toEqual([30_000, 60_000]);
  const series = new UsageSeries(0);
  series.note(point(10, 3, 50));
  series.note(point(30, 0, 20));
  series.note(point(40, 3, 5));
  series.note(point(60, 0, 9));
  expect(series.usage).toEqual({ startedAtMs: 0, points: [point(30, 1, 50), point(60, 1, 9)] });
});
test('P229: a life of any length takes at most 120 points, evenly spread, whose average is that of all samples', () => {
  for (const count of [119, 120, 121, 2_881, 86_400]) {
    const { points } = seriesOf(count, 30, (nth) => nth % 3).usage;
    expect(points.length).toBeLessThanOrEqual(MAX_USAGE_POINTS);
    expect(points.length).toBeGreaterThanOrEqual(Math.min(count, MAX_USAGE_POINTS / 2));
    const spans = points.map(({ timeMs }, at) => timeMs - (points[at - 1]?.timeMs ?? 0));
    expect(new Set(spans.slice(0, -1)).size).toBe(1);
    const coreMs = points.reduce((sum, { cores }, at) => sum + cores * (spans[at] ?? 0), 0);
    const whole = Array.from({ length: count }, (_, at) => (at + 1) % 3).reduce((a, b) => a + b, 0);
    expect(coreMs / 30_000).toBeCloseTo(whole, 3);
    expect(points.at(-1)).toMatchObject({ timeMs: count * 30_000, memoryBytes: count });
  }
});
test('P229: a sample that is there already changes nothing, and a clock that was set back leaves no future', () => {
  const series = seriesOf(4, 30);
  series.note(point(120, 5, 5));
  expect(series.usage).toEqual(seriesOf(4, 30).usage);
  series.note(point(75, 2, 9));
  expect(series.usage.points).toEqual([point(30, 1, 1), point(60, 1, 2), point(75, 2, 9)]);
  series.note(point(0));
  expect(series.usage.points.at(-1)).toEqual(point(75, 2, 9));
});

const HOUR_MS = 3_600_000;
const container = (service: number, generation = 1) => ({
  ...{ id: `c${service}.${generation}`, service, generation },
  startedAtMs: 0,
});
const round = (history: UsageHistory, running: ReturnType<typeof container>[], nowMs: number) => {
  const reading = { timeMs: nowMs + 1, cpuMs: 1, memoryBytes: 1, cores: 1 };
  history.note(running, new Map(running.map(({ id }) => [id, reading])), nowMs);
};
const isKept = (history: UsageHistory, service: number, generation = 1) =>
  history.linesOf({ service, generation }) !== undefined;

test('P230: the usage of a service is kept for six hours after its end', () => {
  const history = new UsageHistory();
  round(history, [container(1), container(2)], 0);
  round(history, [container(2)], HOUR_MS);
  round(history, [container(2)], 7 * HOUR_MS - 1);
  expect(isKept(history, 1)).toBe(true);
  round(history, [container(2)], 7 * HOUR_MS);
  expect([isKept(history, 1), isKept(history, 2)]).toEqual([false, true]);
});
test('P230: at most 500 services that have ended are kept, and every one that runs', () => {
  const history = new UsageHistory();
  const all = Array.from({ length: 1_200 }, (_, at) => container(at + 1));
  round(history, all, 0);
  round(history, all.slice(1), 1_000);
  round(history, all.slice(600), 2_000);
  const kept = all.filter(({ service }) => isKept(history, service)).map(({ service }) => service);
  expect(kept).toHaveLength(1_100);
  expect(kept[0]).toBe(101);
});
test('P230: a later start takes the place of an earlier one', () => {
  const history = new UsageHistory();
  round(history, [container(1)], 0);
  round(history, [container(1, 2)], 1_000);
  // Its container may be listed once more.
  round(history, [container(1)], 2_000);
  expect([isKept(history, 1, 1), isKept(history, 1, 2)]).toEqual([false, true]);
});

test('P231: the agent measures by itself, at whatever time the control plane wants a report', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const measure = vi.fn(async () => {});
  const end = startUsageRounds({ measure }, 30_000);
  for (let times = 0; times < 2; times += 1) {
    vi.advanceTimersByTime(95_000);
    expect(measure).toHaveBeenCalledTimes(3);
    end();
  }
});

test('P228: the lines of text are read as they were written, and fit into the smallest window', () => {
  const points = Array.from({ length: MAX_USAGE_POINTS }, (_, at) => point(at + 1, 1_234.567, 2 ** 49));
  const text = usageLines({ startedAtMs: 1, points });
  expect(readUsageLines(text)).toEqual({ startedAtMs: 1, points });
  expect(text.length).toBeLessThanOrEqual(MAX_USAGE_BYTES);
  expect(MAX_USAGE_BYTES + FRAME_HEADER_BYTES).toBeLessThan(16 * 1024);
  const empty = { startedAtMs: 1, points: [] };
  expect(readUsageLines(usageLines(empty))).toEqual(empty);
  // No agent sends more points or bytes.
  const more = [...points, point(MAX_USAGE_POINTS + 1)];
  expect(readUsageLines(usageLines({ startedAtMs: 1, points: more }))).toBeUndefined();
  expect(readUsageLines(`1${' '.repeat(MAX_USAGE_BYTES)}\n`)).toBeUndefined();
});

test.each([
  ...['', '1', 'x\n', '-1\n', '1\n2 3\n', '1\n2 3 4 5\n', '1\n2 3 4', '1\n2 3.5 4\n', '1\n2 3 -4\n'],
  ...['1\n2 3 1e9\n', '1\n2 3 9999999\n', '1\n2 9999999999999999 1\n', '1\n1 3 4\n'],
  ...['1\n3 3 4\n2 3 4\n', '9999999999999999\n'],
])('P228: %j, which no agent sends, is refused', (text) => {
  expect(readUsageLines(text)).toBeUndefined();
});

test('P228: the agent sends the usage of a start in one frame, and ends the channel although the container runs', async () => {
  const machine = new AgentMachine();
  machine.engine.used.set('c1', { timeMs: 10_001, cpuMs: 2_500, memoryBytes: 2 ** 20 });
  const connection = await machine.welcome([assignment()], { reportPeriodMs: 20 });
  await eventually(() => connection.reports().some(({ usage }) => usage?.cores === 0.25));
  const open = (channel: number, generation: number, offset = 0, credit = 16_384) => {
    const part = { format: 'usage', follow: false, tail: 1 } as const;
    connection.openOutput(channel, { service: 1, generation }, { ...part, offset, credit });
  };
  open(1, 1);
  expect(await connection.ended(1)).toEqual({ type: 'channel.end', channel: 1 });
  const text = connection.output(1).toString();
  expect(readUsageLines(text)).toEqual({ startedAtMs: 1, points: [point(10.001, 0.25, 2 ** 20)] });
  expect([connection.frames(1).length, connection.nextOffset(1)]).toEqual([1, text.length]);
  open(2, 1, text.length);
  expect(await connection.ended(2)).toEqual({ type: 'channel.end', channel: 2 });
  expect(connection.payload(2)).toHaveLength(0);
  open(3, 2);
  expect(await connection.ended(3)).toMatchObject({ type: 'channel.end', missing: true });
  open(4, 1, 0, FRAME_HEADER_BYTES + text.length - 1);
  expect(await connection.ended(4)).toMatchObject({
    type: 'channel.reset',
    message: expect.stringContaining('credit'),
  });
});
