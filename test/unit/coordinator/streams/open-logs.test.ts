/** Open logs of one connection: what may arrive, and what may arrive late after a log was closed. */
import { beforeEach, expect, test } from 'vitest';
import { OpenLogs } from '../../../../control-plane/coordinator/connections/open-logs.ts';
import { noTraffic, type Traffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import { LOG_WINDOW_BYTES, MAX_LOG_STREAMS } from '../../../../shared/protocol/codec.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import { STREAM_NUMBERS } from '../../../../shared/streams/targets.ts';

const FIRST = STREAM_NUMBERS - 2;
let count: Traffic;
let told: Down[];
let refused: string[];
let received: unknown[];
let logs: OpenLogs;

beforeEach(() => {
  [count, told, refused, received] = [noTraffic(), [], [], []];
  logs = new OpenLogs(
    FIRST,
    count,
    (message) => told.push(message),
    (what) => refused.push(what),
  );
});

const open = () =>
  logs.open({ service: 7, generation: 2 }, 5, 100, 'raw', {
    chunk: ({ payload }) => received.push(payload.length) < 3,
    grantRest: () => received.push('rest'),
    end: ({ reason }) => received.push(reason),
    detached: () => {},
  });
const part = (stream: number, bytes: number) => ({ stream, next: 1, payload: new Uint8Array(bytes) });
const requested = (stream: number, ...sizes: number[]) =>
  sizes.map((bytes) => logs.isRequestedPart(part(stream, bytes)));
const end = (stream: number) => logs.end({ type: 'logs.end', stream, reason: 'exited' });

test('P12: numbers go on from the first one, also beyond the largest, and no other was opened', () => {
  expect([open(), open(), open()]).toEqual([FIRST, FIRST + 1, 0]);
  expect([logs.size, count.open]).toEqual([3, 3]);
  for (const stream of [FIRST, 0]) end(stream);
  expect([logs.size, count.open, received]).toEqual([1, 1, ['exited', 'exited']]);
  for (const stream of [FIRST, 0]) end(stream);
  expect(refused).toEqual([]);
  for (const stream of [FIRST - 1, 1]) {
    end(stream);
    logs.chunk(part(stream, 1));
    expect([logs.isRequestedEnd(stream), logs.isRequestedPart(part(stream, 1))]).toEqual([false, false]);
  }
  expect(refused).toEqual([
    ...['the end of a log that was not opened', 'a part of a log that was not opened'],
    ...['the end of a log that was not opened', 'a part of a log that was not opened'],
  ]);
  expect([logs.detach().length, logs.size, count.open]).toEqual([1, 0, 0]);
});

test('P12: parts are passed on and counted, and one beyond the credit is refused', () => {
  const stream = open();
  logs.grant(stream, 9);
  logs.grant(stream + 1, 9);
  expect(told.slice(1)).toEqual([{ type: 'logs.credit', stream, bytes: 9 }]);
  for (const bytes of [1, 2]) logs.chunk(part(stream, bytes));
  expect([received, count.bytes, refused]).toEqual([[1, 2], 3, []]);
  logs.chunk(part(stream, 4));
  expect(refused).toEqual(['more log data than its credit']);
});

test('P152: a reader who leaves has caused what comes late: as many bytes as the credit, and one end', () => {
  const stream = open();
  expect(requested(stream, 99, 0)).toEqual([true, false]);
  expect(logs.isRequestedEnd(stream)).toBe(true);
  for (let n = 0; n < 2; n++) logs.close(stream, 10);
  expect([told.slice(1), logs.size]).toEqual([[{ type: 'logs.close', stream }], 0]);
  expect(requested(stream, 10, 11)).toEqual([true, false]);
  logs.chunk(part(stream, 4));
  expect(requested(stream, 6, 7)).toEqual([true, false]);
  expect(told.slice(2)).toEqual([{ type: 'logs.close', stream }]);
  logs.chunk(part(stream, 7));
  expect(logs.isRequestedPart(part(stream, 1))).toBe(false);
  expect(logs.isRequestedEnd(stream)).toBe(true);
  for (let n = 0; n < 2; n++) end(stream);
  expect([logs.isRequestedEnd(stream), received, refused]).toEqual([false, [], []]);
  logs.close(open(), 3);
  expect(logs.isRequestedEnd(stream)).toBe(true);
});

test('P152: however often readers come and go, no more is late than an agent may serve at once', () => {
  let stream = 0;
  for (let n = 0; n < MAX_LOG_STREAMS + 1; n++) {
    stream = open();
    logs.close(stream, LOG_WINDOW_BYTES);
  }
  const most = MAX_LOG_STREAMS * LOG_WINDOW_BYTES;
  for (const [bytes, isRequested] of [
    [most, true],
    [most + 1, false],
  ] as const)
    expect(logs.isRequestedPart({ ...part(stream, 0), payload: { length: bytes } as Uint8Array })).toBe(
      isRequested,
    );
  for (let n = 1; n < MAX_LOG_STREAMS; n++) end(stream);
  expect(logs.isRequestedEnd(stream)).toBe(true);
  end(stream);
  expect(logs.isRequestedEnd(stream)).toBe(false);
});
