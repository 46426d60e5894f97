/** The relay between a client's WebSocket and a channel of an agent: credit, marks, and its ends. */

import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import {
  type ChannelSink,
  OpenChannels,
} from '../../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import { MARK_MS, StreamRelay } from '../../../../control-plane/coordinator/streams/stream-relay.ts';
import { decodeChunk } from '../../../../shared/protocol/codec.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import type { ClientMessage } from '../../../../shared/streams/client-messages.ts';
import { CHUNK_BYTES, MAX_WINDOW_BYTES, WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { leastGrant } from '../../../../shared/streams/window.ts';
import { lastSink } from '../../../support/rigs/last-sink.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

const CHANNEL = 0;
const QUARTER = WINDOW_BYTES / 4;

let told: Down[];
let toAgent: Uint8Array[];
/** Frames to the client: messages, and lengths of bytes. */
let toClient: unknown[];
let closes: [code: number, reason: string][];
let over: number;
let clock: TestClock;
let relay: StreamRelay;
let agent: () => ChannelSink;

beforeEach(() => begin({ idleMs: 1_000, totalMs: 1_500 }));

function begin(times: { idleMs: number; totalMs: number }) {
  [told, toAgent, toClient, closes, over, clock] = [[], [], [], [], 0, new TestClock()];
  const channels = new OpenChannels({
    traffic: noTraffic(),
    sendText: (message) => told.push(message),
    sendBytes: (frame) => toAgent.push(decodeChunk(frame).payload),
    isBehind: () => told.length > 2,
    refused: () => {},
  });
  agent = lastSink(channels);
  relay = new StreamRelay({
    client: {
      tell: (message) => toClient.push(message),
      send: (bytes) => toClient.push(bytes.length),
      close: (code, reason) => closes.push([code, reason]),
    },
    clock,
    times,
    over: () => {
      over += 1;
    },
  });
  expect(relay.isAgentBehind).toBe(false);
  relay.begin(channels, { service: 7, generation: 1 }, { kind: 'tcp', port: 80 });
}

const opened = (credit = 0) => agent().message({ type: 'channel.opened', channel: CHANNEL, credit });
const credited = (bytes: number) => agent().message({ type: 'channel.credit', channel: CHANNEL, bytes });
const ended = (exitCode?: number) => agent().message({ type: 'channel.end', channel: CHANNEL, exitCode });
const reset = (message: string) =>
  agent().message({ type: 'channel.reset', channel: CHANNEL, message, refused: false });
const says = (message: ClientMessage) => relay.receive(message);
const types = () => told.map(({ type }) => type);
const marks = () => toClient.flatMap((one) => (one as { mark?: string }).mark ?? []);

test('P251, H682: the agent may send one window, and more once the client has returned the mark of a part', () => {
  expect(agent().chunk(new Uint8Array(1))).toBe(false);
  opened(10);
  expect(toClient).toEqual([{ type: 'opened', credit: 10 }]);
  agent().chunk(new Uint8Array(QUARTER - 1));
  expect(marks()).toEqual([]);
  agent().chunk(new Uint8Array(1));
  expect(agent().chunk(new Uint8Array(3 * QUARTER))).toBe(true);
  expect(agent().chunk(new Uint8Array(1))).toBe(false);
  const [first = '', second = '', ...more] = marks();
  expect([more, first === second]).toEqual([[], false]);
  for (const mark of [second, second, 'another']) says({ type: 'read', mark });
  expect(told.slice(1)).toEqual([{ type: 'channel.credit', channel: CHANNEL, bytes: 3 * QUARTER }]);
  expect(agent().chunk(new Uint8Array(3 * QUARTER))).toBe(true);
  expect(agent().chunk(new Uint8Array(1))).toBe(false);
  says({ type: 'read', mark: first });
  expect(relay.isAgentBehind).toBe(true);
  expect(told.slice(2)).toEqual([{ type: 'channel.credit', channel: CHANNEL, bytes: QUARTER }]);
  expect([closes, over]).toEqual([[], 0]);
});

test('P251, H682: the client may send as much as the agent grants, in chunks that follow one another', () => {
  opened(CHUNK_BYTES + 5);
  relay.receive(new Uint8Array());
  const bytes = randomBytes(CHUNK_BYTES + 12);
  relay.receive(bytes.subarray(0, CHUNK_BYTES + 5));
  credited(7);
  relay.receive(bytes.subarray(CHUNK_BYTES + 5));
  expect(toAgent.map(({ length }) => length)).toEqual([CHUNK_BYTES, 5, 7]);
  expect(Buffer.concat(toAgent).equals(bytes)).toBe(true);
  expect(toClient.at(-1)).toEqual({ type: 'credit', bytes: 7 });
  expect([credited(WINDOW_BYTES), credited(MAX_WINDOW_BYTES)]).toEqual([true, false]);
  expect(closes).toEqual([]);
});

test.each([
  ['more than its credit', () => opened(1) && relay.receive(new Uint8Array(2)), /credit/],
  [
    'bytes after its end',
    () => opened(9) && [says({ type: 'end' }), relay.receive(new Uint8Array(1))],
    /credit/,
  ],
  ['a frame too early', () => says({ type: 'end' }), /Wait for "opened"/],
  ['what is no message', () => opened() && relay.receive(undefined), /does not match/],
])('H682: a client that sends %s is disconnected with 1008, and the agent is informed', (_, act, reason) => {
  act();
  expect(closes).toEqual([[1008, expect.stringMatching(reason)]]);
  expect(toClient.at(-1)).toEqual({ type: 'reset', message: closes[0]?.[1] });
  const before = toClient.length;
  says({ type: 'end' });
  relay.closed();
  expect([types().at(-1), over, toClient.length, closes.length]).toEqual(['channel.reset', 1, before, 1]);
});

test.each([
  ['a second opening', () => opened() && opened()],
  ['an end before it is opened', () => ended()],
  ['a second end', () => opened() && ended() && ended()],
  ['bytes after its end', () => opened() && ended() && agent().chunk(new Uint8Array(1))],
])('P252: an agent may not send %s', (_, act) => {
  expect(act()).toBe(false);
});

test('P253, H684: a stream is complete once both sides have ended, or its command has', () => {
  opened();
  ended();
  expect([toClient.at(-1), closes]).toEqual([{ type: 'end' }, []]);
  says({ type: 'end' });
  expect([closes, over, types()]).toEqual([[[1000, '']], 1, ['channel.open', 'channel.end']]);
});

test('P253, H684: a client that ends first, once, waits for the agent', () => {
  opened();
  says({ type: 'end' });
  says({ type: 'end' });
  expect([closes, types()]).toEqual([[], ['channel.open', 'channel.end']]);
  ended();
  expect([closes, over, types().length]).toEqual([[[1000, '']], 1, 2]);
});

test('H680, H681: a command that has ended ends its stream with its exit code', () => {
  opened();
  says({ type: 'resize', rows: 3, columns: 4 });
  says({ type: 'signal', signal: 'INT' });
  expect(told.slice(1)).toEqual([
    { type: 'channel.resize', channel: CHANNEL, rows: 3, columns: 4 },
    { type: 'channel.signal', channel: CHANNEL, signal: 'INT' },
  ]);
  ended(0);
  expect([toClient.at(-1), closes, over]).toEqual([{ type: 'end', exit_code: 0 }, [[1000, '']], 1]);
});

test.each([
  ['its agent refuses it', () => reset('no such pört'), 'no such p?rt', false],
  ['its agent has gone', () => agent().detached(), expect.stringContaining('has lost its connection'), false],
  ['access ends', () => relay.close('x'.repeat(200)), 'x'.repeat(120), true],
  ['nothing passes for its time', () => clock.pass(1_000), expect.stringContaining('for 1 s'), true],
])('H683: when %s, the client is told why, and the agent if it does not know', (_, act, reason, isTold) => {
  opened();
  act();
  expect([closes, over, types().length]).toEqual([[[1001, reason]], 1, isTold ? 2 : 1]);
  clock.pass(5_000);
  expect([closes.length, over]).toEqual([1, 1]);
});

test('H689: bytes in either direction show that a stream is used, until it has lasted for its longest time', () => {
  opened(1);
  clock.pass(600);
  agent().chunk(new Uint8Array(1));
  clock.pass(400);
  relay.receive(new Uint8Array(1));
  clock.pass(499);
  expect(over).toBe(0);
  clock.pass(1);
  expect(closes).toEqual([[1001, expect.stringContaining('lasted for 1.5 s')]]);
});

test('H833: a quiet stream gets a mark every 25 s once it is opened, which grants nothing and is no byte', () => {
  begin({ idleMs: 4 * MARK_MS, totalMs: 100 * MARK_MS });
  clock.pass(MARK_MS);
  expect(toClient).toEqual([]);
  opened();
  clock.pass(MARK_MS - 1);
  expect(marks()).toEqual([]);
  clock.pass(1);
  const [first = ''] = marks();
  says({ type: 'read', mark: first });
  clock.pass(MARK_MS);
  expect([marks().length, new Set(marks()).size, types()]).toEqual([2, 2, ['channel.open']]);
  clock.pass(MARK_MS);
  expect(closes).toEqual([[1001, expect.stringContaining('carried nothing for 100 s')]]);
  const before = toClient.length;
  clock.pass(MARK_MS);
  expect(toClient.length).toBe(before);
});

test('H833: a client that returns no marks gets the last one again, and one that does gets its credit', () => {
  begin({ idleMs: 100 * MARK_MS, totalMs: 100 * MARK_MS });
  opened();
  const bytes = leastGrant(WINDOW_BYTES) - 1;
  agent().chunk(new Uint8Array(bytes));
  for (let n = 0; n < 3; n += 1) clock.pass(MARK_MS);
  expect([marks().length, new Set(marks()).size]).toEqual([3, 1]);
  for (const mark of marks()) says({ type: 'read', mark });
  expect(told.slice(1)).toEqual([]);
  agent().chunk(new Uint8Array(1));
  clock.pass(MARK_MS);
  says({ type: 'read', mark: marks().at(-1) ?? '' });
  expect(told.slice(1)).toEqual([{ type: 'channel.credit', channel: CHANNEL, bytes: bytes + 1 }]);
});
