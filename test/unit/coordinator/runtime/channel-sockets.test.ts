/** The socket of a channel between the Worker and the object of a gateway on workerd. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type {
  ObjectSocket,
  SocketEvents,
} from '../../../../control-plane/coordinator/connections/object-socket.ts';
import type { ChannelRequest } from '../../../../control-plane/coordinator/gateways/passed-channel.ts';
import { AwakeTime } from '../../../../control-plane/coordinator/sleep/awake-time.ts';
import { type PairedSocket, stubRuntime } from '../../../support/rigs/object-runtime.ts';

// Written for the types of workerd, which tests do not have.
const { acceptChannel, dialling } = await import(
  `${'../../../../control-plane/coordinator/runtime'}/channel-sockets.ts`
);

const REQUEST: ChannelRequest = {
  at: { connection: 'life.1', sent: 4 },
  key: { service: 7, generation: 2 },
  target: { kind: 'files-out', path: '/grün', form: 'file' },
  credit: 100,
};
let awake: AwakeTime;
/** What the gateway gets, and what it serves. */
let passed: unknown[];
let served: 'channel' | 'full' | undefined;
let atGateway: ObjectSocket;
let received: unknown[];
let sockets: PairedSocket[];

beforeEach(() => {
  stubRuntime();
  [passed, received, sockets, served] = [[], [], [], 'channel'];
  awake = new AwakeTime(Date.now);
});
afterEach(() => void vi.unstubAllGlobals());

const gateway = {
  pass: async (request: ChannelRequest, open: () => ObjectSocket) => {
    passed.push(request);
    if (served !== 'channel') return served;
    atGateway = open();
    return {
      receive: (data: unknown) => passed.push(data, awake.active),
      closed: () => passed.push('closed'),
    };
  },
};
const events: SocketEvents = {
  message: (data) => received.push(data),
  closed: () => received.push('closed'),
};
const dial = (): Promise<ObjectSocket | 'full' | undefined> =>
  dialling((number: number) => ({
    fetch: async (request: Request) => {
      expect([number, new URL(request.url).pathname]).toEqual([3, '/channel']);
      const response = await acceptChannel(request, awake, gateway);
      if (response.webSocket) sockets.push(response.webSocket);
      return response;
    },
  }))(3, REQUEST, events);

test('P174: a channel has a socket of its own, which carries text and bytes both ways and keeps the object awake', async () => {
  const socket = (await dial()) as ObjectSocket;
  atGateway.send('text');
  atGateway.send(new Uint8Array([1]));
  socket.send('more');
  socket.send(new Uint8Array([2]));
  expect(received).toEqual(['text', new Uint8Array([1])]);
  expect(passed).toEqual([REQUEST, 'more', 1, new Uint8Array([2]), 1]);
  expect([awake.active, sockets[0]?.isAccepted, sockets[0]?.peer?.isAccepted]).toEqual([0, true, true]);
  expect([sockets[0]?.binaryType, sockets[0]?.peer?.binaryType]).toEqual(['arraybuffer', 'arraybuffer']);
  socket.close();
  expect(sockets[0]?.closes).toEqual([[1000]]);
});

test.each([
  ['closes', (end?: PairedSocket) => end?.emit('close')],
  ['fails', (end?: PairedSocket) => end?.emit('error')],
  [
    'can not be written to',
    (end?: PairedSocket) => {
      Object.assign(end ?? {}, { isBroken: true });
      (end === sockets[0] ? socketOfReader : atGateway).send('x');
    },
  ],
])('P174: a socket that %s ends the channel for either side', async (_, end) => {
  socketOfReader = (await dial()) as ObjectSocket;
  end(sockets[0]);
  expect(received).toEqual(['closed']);
  end(sockets[0]?.peer);
  expect(passed.at(-1)).toBe('closed');
});
let socketOfReader: ObjectSocket;

test.each(['full', undefined] as const)(
  'P174: a gateway that opens no channel answers why: %s',
  async (why) => {
    served = why;
    expect([await dial(), sockets]).toEqual([why, []]);
  },
);
