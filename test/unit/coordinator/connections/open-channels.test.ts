/** Open channels of one connection: their numbers, what may arrive, and what may arrive late. */
import { beforeEach, expect, test } from 'vitest';
import { AgentConnection } from '../../../../control-plane/coordinator/connections/agent-connection.ts';
import { OpenChannels } from '../../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic, type Traffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import { encode, encodeChunk } from '../../../../shared/protocol/codec.ts';
import type { Down } from '../../../../shared/protocol/down.ts';
import type { ChannelUp } from '../../../../shared/protocol/up.ts';
import { encodeFrame, encodeNote } from '../../../../shared/streams/log-frames.ts';
import {
  type ChannelTarget,
  MAX_CHANNEL_NUMBER,
  MAX_CHANNELS,
  WINDOW_BYTES,
} from '../../../../shared/streams/targets.ts';
import { MemorySocket } from '../../../support/agents/model-agent.ts';
import { RelayRig } from '../../../support/rigs/log-relay.ts';

const FIRST = MAX_CHANNEL_NUMBER - 1;
const KEY = { service: 7, generation: 2 };
const OUTPUT: ChannelTarget = { kind: 'output', offset: 5, format: 'raw' };
const TCP: ChannelTarget = { kind: 'tcp', port: 80 };

let traffic: Traffic;
let told: Down[];
let written: number[];
let refused: string[];
/** Lengths of chunks, and types of messages. */
let received: unknown[];
let isAllowed: boolean;
let channels: OpenChannels;

beforeEach(() => {
  [traffic, told, written, refused, received, isAllowed] = [noTraffic(), [], [], [], [], true];
  channels = new OpenChannels(
    {
      ...{ traffic, refused: (what) => refused.push(what), sendText: (message) => told.push(message) },
      sendBytes: ({ length }) => written.push(length),
    },
    FIRST,
  );
});

const sink = {
  chunk: ({ length }: Uint8Array) => received.push(length) > 0 && isAllowed,
  message: ({ type }: { type: string }) => received.push(type) > 0 && isAllowed,
  detached: () => {},
};
const open = (target: ChannelTarget = OUTPUT) => channels.open(KEY, target, 100, sink);
const chunk = (channel: number, bytes: number) => ({ channel, payload: new Uint8Array(bytes) });
const end = (channel: number) => ({ type: 'channel.end', channel }) as const;
const requested = (channel: number, ...sizes: number[]) =>
  sizes.map((bytes) => channels.isRequestedChunk(chunk(channel, bytes)));
const isEndRequested = (channel: number) => channels.isRequestedMessage(end(channel));

test('P12, P252, P280: numbers go on from the first one, also beyond the largest; what comes late is ignored, and no other channel was opened', () => {
  const all = [open(), open(TCP), open()];
  expect(all).toEqual([FIRST, FIRST + 1, 0]);
  expect([channels.outputs, channels.streams, traffic.open]).toEqual([2, 1, 2]);
  for (const channel of all.slice(1)) channels.close(channel, true);
  expect([channels.outputs, channels.streams, traffic.open]).toEqual([1, 0, 1]);
  for (const channel of all.slice(1)) {
    channels.chunk(chunk(channel, 1));
    channels.receive(end(channel));
    expect([isEndRequested(channel), requested(channel, 1)]).toEqual([false, [false]]);
  }
  expect([received, refused]).toEqual([[], []]);
  for (const channel of [FIRST - 1, 1]) {
    channels.receive(end(channel));
    channels.chunk(chunk(channel, 1));
    expect([isEndRequested(channel), requested(channel, 1)]).toEqual([false, [false]]);
    expect(refused.splice(0)).toEqual([
      'a message for a channel that was not opened',
      'bytes of a channel that was not opened',
    ]);
  }
  expect([channels.detach(), channels.outputs, traffic.open]).toEqual([[sink], 0, 0]);
});

test.each([
  ['output', OUTPUT, { open: 1, bytes: 3, toServices: 0 }],
  ['a container', TCP, { open: 0, fromServices: 23, toServices: 5 }],
])(
  'P12, P250: a channel to %s is passed on and counted until it is over, and what is not allowed is refused',
  (_, target, counted) => {
    const channel = open(target);
    const use = () => {
      channels.chunk(chunk(channel, 23));
      channels.receive(end(channel));
      channels.send({ type: 'channel.credit', channel, bytes: 9 });
      if (target === TCP) channels.sendBytes(channel, new Uint8Array(5));
    };
    use();
    expect(traffic).toEqual({ ...noTraffic(), ...counted });
    expect(received).toEqual([23, 'channel.end']);
    expect(told.splice(0)).toEqual([
      { type: 'channel.open', channel, ...KEY, target, credit: 100 },
      { type: 'channel.credit', channel, bytes: 9 },
    ]);
    expect(written.splice(0)).toEqual(target === TCP ? [9] : []);
    channels.chunk(chunk(channel, 0));
    isAllowed = false;
    use();
    const beyond = 'bytes beyond the credit of a channel, or not as its target sends them';
    expect(refused.splice(0)).toEqual([beyond, beyond, 'an unexpected channel.end']);
    [told, written, received] = [[], [], []];
    for (const isKnown of [false, false]) channels.close(channel, isKnown);
    use();
    expect([told, written, received, refused]).toEqual([[{ type: 'channel.reset', channel }], [], [], []]);
  },
);

test('P152: a reader who leaves has caused what comes late: as many bytes as the credit, the opening and the end', () => {
  const channel = open();
  expect([requested(channel, 99, 0), isEndRequested(channel)]).toEqual([[true, false], true]);
  for (let n = 0; n < 2; n++) channels.close(channel, false, 10);
  expect([told.slice(1), channels.outputs]).toEqual([[{ type: 'channel.reset', channel }], 0]);
  expect(requested(channel, 10, 11)).toEqual([true, false]);
  channels.chunk(chunk(channel, 4));
  expect(requested(channel, 6, 7)).toEqual([true, false]);
  channels.chunk(chunk(channel, 7));
  expect(requested(channel, 1)).toEqual([false]);
  for (const type of ['channel.opened', 'channel.end'] as const) {
    expect(isEndRequested(channel)).toBe(true);
    channels.receive({ type, channel });
  }
  expect([isEndRequested(channel), received, refused, told.length]).toEqual([false, [], [], 2]);
  channels.receive(end(channel));
  channels.close(open(), false, 3);
  expect([isEndRequested(channel), requested(channel, 3, 4)]).toEqual([true, [true, false]]);
});

test('P152: however often readers come and go, no more is late than an agent may serve at once', () => {
  let channel = 0;
  for (let n = 0; n < 2 * MAX_CHANNELS + 1; n++) {
    channel = open();
    channels.close(channel, false);
  }
  const most = 2 * MAX_CHANNELS * WINDOW_BYTES;
  const isRequested = (length: number) =>
    channels.isRequestedChunk({ channel, payload: { length } as Uint8Array });
  expect([isRequested(most), isRequested(most + 1)]).toEqual([true, false]);
  for (let n = 0; n < 4 * MAX_CHANNELS; n++) {
    expect(isEndRequested(channel)).toBe(true);
    channels.receive(end(channel));
  }
  expect(isEndRequested(channel)).toBe(false);
});

test('P280: after a sleep of the gateway, what was in transit for an earlier channel reaches no later one', () => {
  const connection = (firstChannel: number) =>
    new AgentConnection(
      new MemorySocket(),
      {
        ...{ message: () => {}, closed: () => {}, useAllowance: () => 0 },
        refused: (what) => refused.push(what),
      },
      firstChannel,
    );
  const earlier = connection(1_000).channels.open(KEY, TCP, 1_000, sink);
  const after = connection(11_000);
  expect(after.channels.open(KEY, TCP, 1_000, sink)).not.toBe(earlier);
  after.receive(encode({ type: 'channel.opened', channel: earlier, credit: 1_000 }));
  expect([received, refused.length, after.isClosed]).toEqual([[], 1, true]);
});

const frameOf = (service: number, generation: number) =>
  encodeFrame({ service, position: { generation, offset: 1 }, payload: new Uint8Array(1) });

test.each<[string, Uint8Array | ChannelUp]>([
  ['a frame of another service', frameOf(8, 1)],
  ['a frame of another start', frameOf(7, 2)],
  ['a note', encodeNote(7, { ended: true })],
  ['two frames at once', Buffer.concat([frameOf(7, 1), frameOf(7, 1)])],
  ['a part of a frame', frameOf(7, 1).subarray(0, 20)],
  ['less than the header of one', new Uint8Array(19)],
  ['credit', { type: 'channel.credit', channel: 200, bytes: 1 }],
  ['a second opening', { type: 'channel.opened', channel: 200 }],
])('P10, P12: a host that sends %s on a channel to output loses its connection with 4400', (_, sent) => {
  const rig = new RelayRig().attach();
  const send = (one: Uint8Array | ChannelUp) =>
    rig.connection?.receive(
      one instanceof Uint8Array ? encodeChunk({ channel: 200, payload: one }) : encode(one),
    );
  send({ type: 'channel.opened', channel: 200 });
  send(frameOf(7, 1));
  expect([rig.channel, rig.socket.closeCode]).toEqual([200, undefined]);
  send(sent);
  expect([rig.socket.closeCode, rig.refused.length, rig.connection]).toEqual([4400, 1, undefined]);
});
