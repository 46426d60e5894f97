/** One channel on its way through a gateway: credit, what passes, and its ends. */

import { beforeEach, expect, test } from 'vitest';
import { OpenChannels } from '../../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import { PassedChannel } from '../../../../control-plane/coordinator/gateways/passed-channel.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import type { ChannelUp } from '../../../../shared/protocol/up.ts';
import { encodeFrame, FRAME_HEADER_BYTES } from '../../../../shared/streams/log-frames.ts';
import type { ChannelTarget } from '../../../../shared/streams/targets.ts';
import { CONNECTION_WINDOW_BYTES } from '../../../../shared/streams/window.ts';

const KEY = { service: 7, generation: 2 };
const CREDIT = 1_000;
const channel = 300;
const OUTPUT: ChannelTarget = { kind: 'output', offset: 5, format: 'raw', tail: 4 };
const FILE: ChannelTarget = { kind: 'files-out', path: '/a', form: 'file' };
const frame = (bytes: number, key: object = {}) =>
  encodeFrame({
    ...{ service: 7, position: { generation: 2, offset: 9 }, ...key },
    payload: new Uint8Array(bytes - FRAME_HEADER_BYTES),
  });

/** What the agent receives, the reader, and what is refused. */
let told: (Down | Uint8Array)[];
let read: (string | Uint8Array)[];
let refused: string[];
let isClosed: boolean;
let channels: OpenChannels;

beforeEach(() => {
  [told, read, refused, isClosed] = [[], [], [], false];
  channels = new OpenChannels(
    {
      sendText: (message) => told.push(message),
      sendBytes: (bytes) => told.push(bytes),
      refused: (what) => refused.push(what),
      traffic: noTraffic(),
    },
    channel,
  );
});

function pass(target: ChannelTarget): PassedChannel {
  const socket = {
    send: (data: string | Uint8Array) => read.push(data),
    close: () => {
      isClosed = true;
    },
  };
  const request = { at: { connection: 'life.1', sent: 0 }, key: KEY, target, credit: CREDIT };
  const passed = new PassedChannel(channels, request, socket);
  expect(told.splice(0)).toEqual([{ type: 'channel.open', channel, ...KEY, target, credit: CREDIT }]);
  return passed;
}
/** Whether the memory of the channel is free again. */
const isOver = () => channels.link.memory.freeBytes === CONNECTION_WINDOW_BYTES;
const chunk = (payload: Uint8Array) => channels.chunk({ channel, payload });
const message = (type: ChannelUp['type'], fields: object = {}) =>
  channels.receive({ type, channel, ...fields } as ChannelUp);

test('P9, P174: a host may send what the reader has granted, which passes untouched, and no more', () => {
  const passed = pass(OUTPUT);
  const [first, second] = [frame(600), frame(700)];
  chunk(first);
  expect(read[0]).toBe(first);
  passed.receive(JSON.stringify({ type: 'channel.credit', channel: 1, bytes: 300 }));
  expect(told).toEqual([{ type: 'channel.credit', channel, bytes: 300 }]);
  chunk(second);
  expect([read[1] === second, refused]).toEqual([true, []]);
  chunk(frame(FRAME_HEADER_BYTES + 1));
  expect([read.length, refused.length]).toEqual([2, 1]);
});

test.each([
  ['a frame of another service', () => chunk(frame(50, { service: 8 }))],
  ['a frame of another start', () => chunk(frame(50, { position: { generation: 3, offset: 9 } }))],
  ['a part of a frame', () => chunk(frame(50).subarray(0, 49))],
  ['less than the head of a frame', () => chunk(new Uint8Array(19))],
  ['credit', () => message('channel.credit', { bytes: 1 })],
])('P10, P174: %s on a channel to output is refused at the gateway', (_, send) => {
  pass(OUTPUT);
  send();
  expect([refused.length, read]).toEqual([1, []]);
});

test.each([
  ['output that has ended', OUTPUT, 'channel.end', {}],
  ['output that is missing', OUTPUT, 'channel.end', { missing: true }],
  ['output that can not be read', OUTPUT, 'channel.reset', { refused: false, message: 'no disk' }],
  ['a file that is complete', FILE, 'channel.end', { exitCode: 0 }],
] as const)('P174: a channel to %s is over once, and its agent is not told', (_, target, type, fields) => {
  const passed = pass(target);
  message('channel.opened');
  message(type, fields);
  expect(read.map((text) => JSON.parse(String(text)))).toEqual([
    { type: 'channel.opened', channel },
    { type, channel, ...fields },
  ]);
  passed.closed();
  expect([isOver(), told, refused, channels.outputs + channels.streams]).toEqual([true, [], [], 0]);
});

test('P252, P174: a channel ends at the agent at once when its reader leaves, and what comes late is ignored', () => {
  const passed = pass(OUTPUT);
  chunk(frame(400));
  passed.closed();
  passed.closed();
  expect([isOver(), told]).toEqual([true, [{ type: 'channel.reset', channel }]]);
  const late = [600, 601].map((bytes) => channels.isRequestedChunk({ channel, payload: frame(bytes) }));
  expect(late).toEqual([true, false]);
  chunk(frame(600));
  expect([read.length, refused]).toEqual([1, []]);
});

test('P174: the socket of a reader closes with the connection of the host', () => {
  pass(OUTPUT);
  for (const sink of channels.detach()) sink.detached();
  expect([isOver(), isClosed, told]).toEqual([true, true, []]);
});

test('P253, P174: bytes pass both ways, and a channel is over once both directions have ended', () => {
  const passed = pass({ kind: 'tcp', port: 80 });
  message('channel.opened', { credit: 10 });
  passed.receive(Buffer.from('request'));
  message('channel.credit', { bytes: 5 });
  chunk(Buffer.from('answer'));
  message('channel.end');
  expect(isOver()).toBe(false);
  passed.receive(JSON.stringify({ type: 'channel.end', channel: 1 }));
  expect([read.length, Buffer.from(read[2] as Uint8Array).toString()]).toEqual([4, 'answer']);
  expect(told).toEqual([expect.any(Uint8Array), { type: 'channel.end', channel }]);
  expect(Buffer.from(told[0] as Uint8Array).toString()).toContain('request');
});
