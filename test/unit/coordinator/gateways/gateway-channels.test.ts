/** Channels of a reader in another object: the socket of each, and what becomes of one that never opens. */

import { beforeEach, expect, test } from 'vitest';
import type { SocketEvents } from '../../../../control-plane/coordinator/connections/object-socket.ts';
import type { ChannelSink } from '../../../../control-plane/coordinator/connections/open-channels.ts';
import {
  type DialGateway,
  GatewayChannels,
} from '../../../../control-plane/coordinator/gateways/gateway-channels.ts';
import { WindowMemory } from '../../../../shared/streams/window.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

const KEY = { service: 7, generation: 2 };
const TARGET = { kind: 'output', offset: 0, format: 'raw' } as const;

let clock: TestClock;
let dialled: { request: Parameters<DialGateway>; events: SocketEvents }[];
let answer: () => ReturnType<DialGateway>;
/** What the gateway receives, and the sink. */
let sent: unknown[];
let received: unknown[];
let isAllowed: boolean;
let freed: number;
let channels: GatewayChannels;

const socket = { send: (data: unknown) => sent.push(data), close: () => sent.push('closed') };
const sink: ChannelSink = {
  chunk: (bytes) => received.push(bytes) > 0 && isAllowed,
  message: (message) => received.push(message) > 0 && isAllowed,
  detached: () => received.push('detached'),
};

beforeEach(() => {
  [clock, dialled, sent, received, freed, isAllowed] = [new TestClock(), [], [], [], 0, true];
  answer = async () => socket;
  channels = new GatewayChannels({
    ...{ at: { gateway: 3, connection: 'life.1', sent: 4 }, clock, full: 'The host is full.' },
    memory: new WindowMemory(1_000_000),
    dial: (...request) => {
      dialled.push({ request, events: request[2] });
      return answer();
    },
    free: () => {
      freed += 1;
    },
  });
});

const turns = () => new Promise(setImmediate);
const open = () => channels.open(KEY, TARGET, 100, sink);
const events = () => dialled.at(-1)?.events;

test('P174: a channel has a socket to the gateway, in order also with what is sent before that has answered', async () => {
  const channel = open();
  const credit = { type: 'channel.credit', channel, bytes: 5 } as const;
  channels.send(credit);
  channels.sendBytes(channel, new Uint8Array([1]));
  await channels.answered;
  channels.sendBytes(channel, new Uint8Array([2]));
  const at = { connection: 'life.1', sent: 4 };
  expect(dialled[0]?.request.slice(0, 2)).toEqual([3, { at, key: KEY, target: TARGET, credit: 100 }]);
  expect(sent).toEqual([JSON.stringify(credit), new Uint8Array([1]), new Uint8Array([2])]);
  const end = { type: 'channel.end', channel: 200 };
  events()?.message(new Uint8Array([3]));
  events()?.message(JSON.stringify(end));
  expect(received).toEqual([new Uint8Array([3]), end]);
});

test('P174: a reader who leaves closes the socket, also of a gateway that answers later', async () => {
  const first = open();
  await channels.answered;
  channels.close(first);
  expect(sent).toEqual(['closed']);
  const second = open();
  open();
  channels.close(second);
  await channels.answered;
  channels.closeAll();
  expect(sent).toEqual(['closed', 'closed', 'closed']);
  events()?.message('{}');
  events()?.closed();
  expect([received, channels.isResting]).toEqual([[], false]);
});

test.each([
  ['does not have the connection', async () => undefined, 0],
  ['fails', () => Promise.reject(new Error('reset')), 0],
  ['does not answer', () => new Promise<undefined>(() => {}), 10_000],
])('P174: a gateway that %s is left alone for a second', async (_, answers, afterMs) => {
  answer = answers;
  open();
  await turns();
  clock.pass(afterMs);
  await channels.answered;
  expect([received, channels.isResting, channels.isFull]).toEqual([['detached'], true, false]);
  clock.pass(999);
  expect([channels.isResting, freed]).toEqual([true, 0]);
  clock.pass(1);
  expect([channels.isResting, freed]).toEqual([false, 1]);
});

test('P174: a socket that comes too late is closed, and one that is lost detaches its reader', async () => {
  const late = Promise.withResolvers<typeof socket>();
  answer = () => late.promise;
  open();
  await turns();
  clock.pass(10_000);
  await channels.answered;
  late.resolve(socket);
  await turns();
  expect([received.splice(0), sent.splice(0)]).toEqual([['detached'], ['closed']]);
  open();
  await channels.answered;
  events()?.closed();
  events()?.closed();
  expect([received, channels.isResting]).toEqual([['detached'], true]);
});

test('P174: a host that serves its maximum refuses a channel with that reason', async () => {
  answer = async () => 'full';
  const channel = open();
  await channels.answered;
  expect(received).toEqual([{ type: 'channel.reset', channel, refused: true, message: 'The host is full.' }]);
  expect([channels.isFull, channels.isResting]).toEqual([true, false]);
});

test.each([
  ['bytes', new Uint8Array(1)],
  ['a message', '{"type":"channel.opened"}'],
])('P251, P174: %s that the reader does not allow end the channel', async (_, data) => {
  open();
  await channels.answered;
  isAllowed = false;
  events()?.message(data);
  expect([received.at(-1), sent]).toEqual(['detached', ['closed']]);
});
