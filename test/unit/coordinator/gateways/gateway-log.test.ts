/** One start's output on its way through a gateway: credit, heartbeats, and its ends. */
import { beforeEach, expect, test } from 'vitest';
import type { AgentConnection } from '../../../../control-plane/coordinator/connections/agent-connection.ts';
import { GatewayLog } from '../../../../control-plane/coordinator/gateways/gateway-log.ts';
import { encodeFrame, encodeNote, heartbeat } from '../../../../shared/streams/log-frames.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

const KEY = { service: 7, generation: 2 };
const WINDOW = 40_000;
const framed = (bytes: number, offset = 9) =>
  encodeFrame({ service: 7, position: { generation: 2, offset }, payload: new Uint8Array(bytes) });
const FRAME_BYTES = framed(0).length;

let clock: TestClock;
let calls: unknown[];
let done: number;
let log: GatewayLog;

beforeEach(() => {
  [clock, calls, done] = [new TestClock(), [], 0];
  const connection: Pick<AgentConnection, 'openLog' | 'grant' | 'closeLog'> = {
    openLog: (key, offset, credit, format, _, part) =>
      calls.push('open', key, offset, credit, format, part) && 3,
    grant: (...args) => void calls.push('grant', ...args),
    closeLog: (...args) => void calls.push('close', ...args),
  };
  const over = () => {
    done += 1;
  };
  log = new GatewayLog(connection as AgentConnection, KEY, 5, 'raw', clock, WINDOW, over, { tail: 4 });
});

const turns = () => new Promise(setImmediate);
const chunk = (bytes: number, next = 9) => log.chunk({ stream: 3, next, payload: new Uint8Array(bytes) });

test('P9, P174: a host may send one window, and more in parts of a quarter once that was read', async () => {
  await turns();
  expect(calls.splice(0)).toEqual(['open', KEY, 5, WINDOW, 'raw', { tail: 4 }]);
  expect([chunk(WINDOW / 2), chunk(WINDOW / 2 + 1), chunk(0)]).toEqual([true, false, true]);
  const reader = log.stream.getReader();
  expect((await reader.read()).value).toEqual(framed(WINDOW / 2));
  await turns();
  expect(calls.splice(0)).toEqual(['grant', 3, WINDOW / 2]);
  expect(chunk(WINDOW / 4)).toBe(true);
  // What is read at once leaves too little credit for a grant of its own.
  const small = reader.read();
  await small;
  for (let n = 0; n < 2; n++) {
    const next = reader.read();
    chunk(1);
    await next;
  }
  await turns();
  const granted = calls.filter((_, at) => at % 3 === 2).map(Number);
  expect(Math.min(...granted, WINDOW)).toBeGreaterThanOrEqual(WINDOW / 4);
  log.grantRest();
  expect(calls.slice(-3)).toEqual(['grant', 3, expect.any(Number)]);
  const before = calls.length;
  log.grantRest();
  expect(calls).toHaveLength(before);
});

test.each([
  ['exited', undefined, { ended: true }],
  ['missing', undefined, { missing: 2 }],
  ['failed', 'no disk', { trouble: 'no disk' }],
  ['failed', undefined, { trouble: 'the host could not read the log' }],
] as const)(
  'P174: a log that has %s (%s) ends with a note, once, and its agent is not told',
  async (reason, message, note) => {
    chunk(1);
    for (let n = 0; n < 2; n++) log.end({ type: 'logs.end', stream: 3, reason, message });
    expect(chunk(WINDOW + 1)).toBe(true);
    const reader = log.stream.getReader();
    for (const value of [framed(1), encodeNote(7, note)]) expect((await reader.read()).value).toEqual(value);
    expect((await reader.read()).done).toBe(true);
    clock.pass(60_000);
    expect([done, calls.includes('close')]).toEqual([1, false]);
  },
);

test('P174: a reader that waits with its own buffer is released at the end', async () => {
  const reader = log.stream.getReader({ mode: 'byob' });
  const waiting = reader.read(new Uint8Array(100));
  log.end({ type: 'logs.end', stream: 3, reason: 'exited' });
  expect(Buffer.from((await waiting).value ?? []).equals(encodeNote(7, { ended: true }))).toBe(true);
  expect((await reader.read(new Uint8Array(1))).done).toBe(true);
});

test.each([
  ['its reader cancels', () => void log.stream.cancel(), undefined, true],
  ['its reader has left', () => log.close(), 'the reader has left', true],
  ['the connection has ended', () => log.detached(), 'the connection of the host has ended', false],
])(
  'P174: a log is over when %s, and its agent is told what credit is unused',
  async (_, act, error, isTold) => {
    chunk(10);
    calls = [];
    act();
    log.close();
    log.detached();
    expect([done, calls]).toEqual([1, isTold ? ['close', 3, WINDOW - 10] : []]);
    if (error) await expect(log.stream.getReader().read()).rejects.toThrow(error);
  },
);

test('P174: each minute a heartbeat shows whether the reader is there, unless it has too much unread', async () => {
  const reader = log.stream.getReader();
  for (let n = 0; n < 2; n++) {
    const next = reader.read();
    clock.pass(59_999);
    clock.pass(1);
    expect((await next).value).toEqual(heartbeat());
  }
  chunk(WINDOW - FRAME_BYTES);
  clock.pass(60_000);
  expect((await reader.read()).value?.length).toBe(WINDOW);
  const next = reader.read();
  clock.pass(60_000);
  expect((await next).value).toEqual(heartbeat());
});
