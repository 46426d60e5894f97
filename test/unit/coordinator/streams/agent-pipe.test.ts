/** A channel of an agent as a pipe: its credit in both directions, and its ends. */

import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import {
  type ChannelSink,
  OpenChannels,
} from '../../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import { AgentPipe, BrokenPipe } from '../../../../control-plane/coordinator/streams/agent-pipe.ts';
import { decodeChunk } from '../../../../shared/protocol/codec.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import { CHUNK_BYTES, MAX_WINDOW_BYTES, WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { lastSink } from '../../../support/rigs/last-sink.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

const CHANNEL = 0;
const [IDLE_MS, TOTAL_MS] = [1_000, 2_500];
const QUARTER = WINDOW_BYTES / 4;

let clock: TestClock;
let told: Down[];
let sent: Uint8Array[];
let over: number;
let channels: OpenChannels;
let pipe: AgentPipe;
let agent: () => ChannelSink;

beforeEach(() => {
  [clock, told, sent, over] = [new TestClock(), [], [], 0];
  channels = new OpenChannels({
    traffic: noTraffic(),
    sendText: (message) => told.push(message),
    sendBytes: (frame) => sent.push(decodeChunk(frame).payload),
    refused: () => {},
  });
  agent = lastSink(channels);
  const times = { idleMs: IDLE_MS, totalMs: TOTAL_MS };
  pipe = new AgentPipe({
    clock,
    times,
    over: () => {
      over += 1;
    },
  });
  pipe.begin(channels, { service: 7, generation: 1 }, { kind: 'tcp', port: 80 });
});

const turns = () => new Promise(setImmediate);
const opened = (credit = 0) => agent().message({ type: 'channel.opened', channel: CHANNEL, credit });
const credited = (bytes: number) => agent().message({ type: 'channel.credit', channel: CHANNEL, bytes });
const ended = () => agent().message({ type: 'channel.end', channel: CHANNEL });
const reset = () =>
  agent().message({ type: 'channel.reset', channel: CHANNEL, message: 'no such port', refused: true });
const types = () => told.map(({ type }) => type);

test('P251: the agent may send one window, and is granted a quarter once that was read', async () => {
  expect(told).toMatchObject([{ type: 'channel.open', credit: WINDOW_BYTES }]);
  expect(agent().chunk(new Uint8Array(1))).toBe(false);
  opened();
  expect(agent().chunk(new Uint8Array(QUARTER - 1))).toBe(true);
  expect(agent().chunk(new Uint8Array(3 * QUARTER + 1))).toBe(true);
  expect(agent().chunk(new Uint8Array(1))).toBe(false);
  expect(await pipe.read()).toHaveLength(QUARTER - 1);
  expect(types()).toEqual(['channel.open']);
  expect(await pipe.read()).toHaveLength(3 * QUARTER + 1);
  expect(told.slice(1)).toEqual([{ type: 'channel.credit', channel: CHANNEL, bytes: WINDOW_BYTES }]);
  expect(agent().chunk(new Uint8Array(QUARTER))).toBe(true);
  await pipe.read();
  expect(told.slice(2)).toEqual([{ type: 'channel.credit', channel: CHANNEL, bytes: QUARTER }]);
  expect(agent().chunk(new Uint8Array(WINDOW_BYTES))).toBe(true);
  expect(agent().chunk(new Uint8Array(1))).toBe(false);
  ended();
  expect(await pipe.read()).toHaveLength(WINDOW_BYTES);
  expect(types()).toHaveLength(3);
});

test('P251: bytes to the agent wait for its credit, in chunks that follow one another', async () => {
  const bytes = randomBytes(CHUNK_BYTES + 20);
  const written = pipe.write(bytes);
  await turns();
  expect(sent).toEqual([]);
  opened(CHUNK_BYTES + 5);
  await turns();
  credited(15);
  await written;
  expect(sent.map(({ length }) => length)).toEqual([CHUNK_BYTES, 5, 15]);
  expect(Buffer.concat(sent).equals(bytes)).toBe(true);
  expect(credited(WINDOW_BYTES)).toBe(true);
  expect(credited(MAX_WINDOW_BYTES)).toBe(false);
});

test.each([
  ['credit before it is opened', () => credited(1)],
  ['an end before it is opened', () => ended()],
  ['a second opening', () => opened() && opened()],
  ['a second end', () => opened() && ended() && ended()],
  ['bytes after its end', () => opened() && ended() && agent().chunk(new Uint8Array(1))],
])('P252: %s is not allowed', (_, act) => {
  expect(act()).toBe(false);
});

test('P253: a pipe is over once both sides have ended, whichever does first, and its agent knows', async () => {
  opened();
  const last = pipe.read();
  ended();
  expect([await last, over, channels.streams]).toEqual([undefined, 0, 1]);
  pipe.end();
  pipe.end();
  pipe.close();
  expect([over, channels.streams, types()]).toEqual([1, 0, ['channel.open', 'channel.end']]);
  expect(() => clock.pass(TOTAL_MS)).not.toThrow();
  await expect(pipe.write(new Uint8Array(1))).rejects.toThrow('The stream is over.');
});

test('P253: the end of the agent ends a pipe that has ended before it', async () => {
  opened();
  pipe.end();
  expect(over).toBe(0);
  ended();
  expect([over, types()]).toEqual([1, ['channel.open', 'channel.end']]);
  expect(await pipe.read()).toBeUndefined();
});

test('P252: a reset of the agent breaks what waits, with its reason, and is not answered', async () => {
  const all = [pipe.opened(), pipe.read(), pipe.write(new Uint8Array(1))];
  expect(reset()).toBe(true);
  for (const one of all)
    await expect(one).rejects.toMatchObject({ name: 'BrokenPipe', message: 'no such port', refused: true });
  pipe.end();
  expect([over, types()]).toEqual([1, ['channel.open']]);
});

test('P252: a pipe that is given up resets the stream once, and what has arrived is gone', async () => {
  opened();
  agent().chunk(new Uint8Array(1));
  pipe.close();
  pipe.close('later');
  reset();
  expect([over, types()]).toEqual([1, ['channel.open', 'channel.reset']]);
  await expect(pipe.read()).rejects.toThrow('The request was given up.');
  await expect(pipe.read()).rejects.toMatchObject({ refused: false });
});

test('P252: what has arrived is read although the connection of the host has ended', async () => {
  opened();
  agent().chunk(new Uint8Array(3));
  for (const sink of channels.detach()) sink.detached();
  expect(await pipe.read()).toHaveLength(3);
  await expect(pipe.read()).rejects.toThrow(BrokenPipe);
  expect([over, types()]).toEqual([1, ['channel.open']]);
});

test('H689: bytes in either direction show that a pipe is used; it ends without any, and at its longest time', async () => {
  opened(10);
  clock.pass(IDLE_MS - 1);
  agent().chunk(new Uint8Array(1));
  clock.pass(IDLE_MS - 1);
  await pipe.write(new Uint8Array(1));
  clock.pass(TOTAL_MS - 2 * IDLE_MS + 1);
  expect(over).toBe(0);
  clock.pass(1);
  expect([over, types()]).toEqual([1, ['channel.open', 'channel.reset']]);
  await expect(pipe.read()).rejects.toThrow('has lasted for 2.5 s');
});

test('H689: a pipe that carries nothing ends after its time', async () => {
  opened();
  clock.pass(IDLE_MS - 1);
  expect(over).toBe(0);
  clock.pass(1);
  expect(over).toBe(1);
  await expect(pipe.read()).rejects.toThrow('carried nothing for 1 s');
});

test('P278: what was given up before its last bytes were read is not whole, although they had arrived', async () => {
  opened();
  agent().chunk(new Uint8Array(10));
  agent().chunk(new Uint8Array(10));
  ended();
  expect(await pipe.read()).toHaveLength(10);
  pipe.close('The service has ended.');
  expect(pipe.isDrained).toBe(false);
  await expect(pipe.read()).rejects.toThrow('The service has ended.');
});
