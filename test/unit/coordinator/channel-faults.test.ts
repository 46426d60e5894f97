/**
 * Channels of the real agent's side on their way to readers, directly and through a gateway: they never stand
 * still, and nothing of them is left behind, in whichever order they open, close and break.
 */

import { mkdtemp, open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { Channels } from '../../../agent/channels/channels.ts';
import { AgentConnection } from '../../../control-plane/coordinator/connections/agent-connection.ts';
import type {
  ObjectSocket,
  SocketEvents,
} from '../../../control-plane/coordinator/connections/object-socket.ts';
import { OpenChannels } from '../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic, type Traffic } from '../../../control-plane/coordinator/connections/traffic.ts';
import {
  type DialGateway,
  GatewayChannels,
} from '../../../control-plane/coordinator/gateways/gateway-channels.ts';
import { PassedChannel } from '../../../control-plane/coordinator/gateways/passed-channel.ts';
import { AgentPipe } from '../../../control-plane/coordinator/streams/agent-pipe.ts';
import { LogRelay } from '../../../control-plane/coordinator/streams/log-relay.ts';
import { StreamRelay } from '../../../control-plane/coordinator/streams/stream-relay.ts';
import { decodeChunk } from '../../../shared/protocol/codec.ts';
import type { Down } from '../../../shared/protocol/down.ts';
import { encodeFrame } from '../../../shared/streams/log-frames.ts';
import { type ChannelTarget, type LogFormat, WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { CONNECTION_WINDOW_BYTES, LEAST_WINDOW_BYTES, WindowMemory } from '../../../shared/streams/window.ts';
import { MemorySocket } from '../../support/agents/model-agent.ts';
import { record } from '../../support/fixtures/records.ts';
import { socketPair } from '../../support/rigs/gateway-rig.ts';
import { TestClock } from '../../support/rigs/test-clock.ts';
import { eventually } from '../../support/tools/eventually.ts';

const MEMORY_BYTES = 32 * 2 ** 20;
const KEY = { service: 7, generation: 1 };
const OUTPUT: ChannelTarget = { kind: 'output', offset: 0, format: 'raw' };
const FILE: ChannelTarget = { kind: 'files-out', path: '/f', form: 'file' };
const AT = { gateway: 0, connection: 'life.1', sent: 0 };
const turns = async () => {
  for (let n = 0; n < 20; n++) await Promise.resolve();
};

let traffic: Traffic;
let clock: TestClock;
let told: Down[];
let refused: string[];
let channels: OpenChannels;

beforeEach(() => {
  [traffic, clock, told, refused] = [noTraffic(), new TestClock(), [], []];
  channels = new OpenChannels({
    sendText: (message) => told.push(message),
    sendBytes: () => {},
    refused: (what) => refused.push(what),
    traffic,
  });
});

/** Bytes of the connection's memory that windows have. */
const inUse = () => CONNECTION_WINDOW_BYTES - channels.link.memory.freeBytes;
/** Opens channels through a gateway. */
const through =
  (to: OpenChannels): DialGateway =>
  async (_, request, events) => {
    const { near, far } = socketPair(events);
    const passed = new PassedChannel(to, request, near);
    far.begin({ message: (data) => passed.receive(data), closed: () => passed.closed() });
    return far;
  };
const atGateway = (dial: DialGateway, free?: () => void) =>
  new GatewayChannels({
    ...{ at: AT, dial, clock, full: 'The host has 256 logs open.', free },
    memory: new WindowMemory(MEMORY_BYTES),
  });
const logOf = (to: OpenChannels | GatewayChannels, format: LogFormat = 'raw') =>
  new LogRelay({
    ...{ service: KEY.service, format, done: () => {} },
    source: () => {
      const isResting = to instanceof GatewayChannels && to.isResting;
      return { generation: 1, channels: isResting ? undefined : to, removed: false, final: true };
    },
  });

/** The channels of an agent that has this output. */
async function agentWith(output: Uint8Array): Promise<OpenChannels> {
  const path = join(await mkdtemp(join(tmpdir(), 'channels-')), 'output');
  await writeFile(path, output);
  const agent = new Channels({
    open: () => Promise.reject(new Error('no targets')),
    output: {
      open: () => open(path),
      mayWrite: () => false,
      usageOf: () => undefined,
      retention: {
        ...{ firstOffset: () => 0, lastRemoved: () => 0, maxBytes: 1, outputIn: () => 0 },
        ...{ isLost: () => false, mayCutLine: () => false, remarkOf: () => undefined },
      },
    },
    send: (message) => connection.receive(message),
    sendBytes: async (chunk) => connection.chunk(decodeChunk(Uint8Array.from(chunk))),
  });
  const connection = new OpenChannels({
    sendText: (message) => queueMicrotask(() => agent.receive(message as never)),
    sendBytes: () => {},
    refused: (what) => refused.push(what),
    traffic,
  });
  return connection;
}

/** Lines of all lengths up to the longest piece of Docker. */
const LENGTHS = [16_384, 1, 13_000, 16_384, 16_383, 0, 5_000, 16_384, 8_192, 14_000, 16_384];
const STORED = Buffer.concat(
  [...LENGTHS, ...LENGTHS.toReversed(), ...LENGTHS].map((length, at) =>
    record(Buffer.alloc(length, 97 + at)),
  ),
);

test.for(
  [LEAST_WINDOW_BYTES, 30_001, 50_000, WINDOW_BYTES].flatMap((window) =>
    (['directly', 'through a gateway', 'through a full gateway'] as const).flatMap((way) =>
      (['raw', 'timestamps'] as const).map((format) => [window, way, format] as const),
    ),
  ),
)('P9, P174: no frame waits for ever: window %d, %s, %s', async ([window, way, format]) => {
  const agent = await agentWith(STORED);
  const free = agent.link.memory.freeBytes;
  const channels = way === 'directly' ? agent : atGateway(through(agent));
  // A window has a share of what is free.
  const { memory } = channels.link;
  memory.use(memory.freeBytes - 256 * window);
  if (way === 'through a full gateway') agent.link.memory.use(free);
  const before = [memory.freeBytes, agent.link.memory.freeBytes];
  const relay = logOf(channels, format);
  relay.update();
  let bytes = 0;
  const reading = (async () => {
    for await (const part of relay.stream) bytes += part.length;
    return true;
  })();
  expect(await Promise.race([reading, eventually(() => false, 5_000).catch(() => bytes)])).toBe(true);
  const decoded = LENGTHS.reduce((sum, length) => sum + length + 1, 0) * 3;
  expect(bytes).toBe(decoded + (format === 'raw' ? 0 : 20 * 3 * LENGTHS.length));
  await turns();
  expect([refused, agent.outputs, traffic.open]).toEqual([[], 0, 0]);
  expect([memory.freeBytes, agent.link.memory.freeBytes]).toEqual(before);
});

test('P174: what a gateway passes stays within its memory, however much its reader grants', async () => {
  const sent: unknown[] = [];
  const socket = { send: (data: unknown) => sent.push(data), close: () => {} };
  const { memory } = channels.link;
  memory.use(memory.freeBytes - WINDOW_BYTES);
  const passed = new PassedChannel(channels, { at: AT, key: KEY, target: OUTPUT, credit: 10 }, socket);
  passed.receive(JSON.stringify({ type: 'channel.credit', bytes: WINDOW_BYTES }));
  passed.receive(JSON.stringify({ type: 'channel.credit', bytes: 10 }));
  expect(told.slice(1)).toEqual([{ type: 'channel.credit', channel: 0, bytes: WINDOW_BYTES - 10 }]);
  const frame = (bytes: number, key = KEY) =>
    encodeFrame({
      ...{ service: key.service, position: { generation: key.generation, offset: 1 } },
      payload: new Uint8Array(bytes - 20),
    });
  channels.chunk({ channel: 0, payload: frame(600) });
  passed.receive(JSON.stringify({ type: 'channel.credit', bytes: 700 }));
  expect(told.at(-1)).toMatchObject({ bytes: 600 });
  channels.chunk({ channel: 0, payload: frame(WINDOW_BYTES + 1) });
  expect([sent, refused.length]).toEqual([[frame(600)], 1]);
});

test.each([
  ['of another service', { service: 8, generation: 1 }],
  ['of another start', { service: 7, generation: 2 }],
  ['that is cut', undefined],
])('P10, P174: a gateway refuses a frame %s', (_, key) => {
  const sent: unknown[] = [];
  const socket = { send: (data: unknown) => sent.push(data), close: () => {} };
  new PassedChannel(channels, { at: AT, key: KEY, target: OUTPUT, credit: 1_000 }, socket);
  const { service, generation } = key ?? KEY;
  const frame = encodeFrame({ service, position: { generation, offset: 1 }, payload: new Uint8Array(9) });
  channels.chunk({ channel: 0, payload: key ? frame : frame.subarray(0, -1) });
  expect([sent, refused.length]).toEqual([[], 1]);
});

test('P250, P251: a gateway refuses a second opening or end, and credit for bytes that were not written', () => {
  const socket = { send: () => {}, close: () => {} };
  const passed = new PassedChannel(channels, { at: AT, key: KEY, target: FILE, credit: 1_000 }, socket);
  const opened = { type: 'channel.opened', channel: 0, credit: 9 } as const;
  const credit = { type: 'channel.credit', channel: 0, bytes: 3 } as const;
  channels.receive(opened);
  passed.receive(new Uint8Array(5));
  channels.receive(credit);
  expect(refused).toEqual([]);
  channels.receive(credit);
  channels.receive(opened);
  expect(refused.splice(0)).toEqual(['an unexpected channel.credit', 'an unexpected channel.opened']);
  channels.receive({ type: 'channel.end', channel: 0 });
  channels.chunk({ channel: 0, payload: new Uint8Array(1) });
  channels.receive({ type: 'channel.end', channel: 0 });
  expect(refused.length).toBe(2);
});

/** The sequence of steps that a reader or the host may take at any moment. */
const moments = [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20];
test.each(moments)('P174: a reader who leaves after %d steps leaves nothing behind', async (steps) => {
  const reader = atGateway(through(channels));
  const relay = logOf(reader);
  relay.update();
  for (let n = 0; n < steps; n++) await Promise.resolve();
  await relay.stream.cancel();
  await turns();
  const [opened, closed] = ['channel.open', 'channel.reset'].map((type) =>
    told.filter((one) => one.type === type),
  );
  expect(closed?.length).toBe(opened?.length);
  expect([channels.outputs, traffic.open, inUse()]).toEqual([0, 0, 0]);
});

test.each(moments)(
  'P10: a connection that ends after %d steps ends a channel at its reader',
  async (steps) => {
    let detached = 0;
    const sink = { chunk: () => true, message: () => true, detached: () => (detached += 1) };
    const reader = atGateway(through(channels));
    reader.open(KEY, OUTPUT, 1_000, sink);
    for (let n = 0; n < steps; n++) await Promise.resolve();
    for (const one of channels.detach()) one.detached();
    await turns();
    expect([detached, channels.outputs, traffic.open, inUse()]).toEqual([1, 0, 0, 0]);
  },
);

test('P174: a gateway whose answer comes too late gets its socket closed, and the reader goes on elsewhere', async () => {
  const { promise, resolve } = Promise.withResolvers<ObjectSocket>();
  let detached = 0;
  let closed = 0;
  const reader = atGateway(() => promise);
  reader.open(KEY, OUTPUT, 1_000, {
    ...{ chunk: () => true, message: () => true },
    detached: () => (detached += 1),
  });
  clock.pass(10_000);
  await turns();
  resolve({ send: () => {}, close: () => (closed += 1) });
  await turns();
  expect([detached, closed, reader.isResting]).toEqual([1, 1, true]);
});

test('P174: a gateway keeps the channel that it has opened', async () => {
  const relay = logOf(atGateway(through(channels)));
  relay.update();
  await turns();
  expect([told.length, channels.outputs, inUse()]).toEqual([1, 1, WINDOW_BYTES]);
  await relay.stream.cancel();
});

test('H43: a log whose later start meets a full host breaks off with the reason', async () => {
  const relay = logOf(atGateway(async () => 'full'));
  relay.update();
  await expect(relay.stream.getReader().read()).rejects.toThrow('256 logs open');
});

test('P174: a reader whose gateway sends what was not allowed leaves it', async () => {
  const relay = logOf(
    atGateway(async (_, __, events) => {
      const { near, far } = socketPair(events);
      far.begin(leaves);
      near.send(new Uint8Array(5));
      return far;
    }),
  );
  let hasLeft = false;
  const leaves: SocketEvents = { message: () => {}, closed: () => (hasLeft = true) };
  relay.update();
  await turns();
  expect(hasLeft).toBe(true);
  await relay.stream.cancel();
});

test('P10, P252: a channel that opens on a connection that is found closed is detached, and nothing runs on', async () => {
  const socket = new MemorySocket();
  socket.broken = true;
  const events = { message: () => {}, refused: () => {}, useAllowance: () => 0, closed: () => {} };
  const connection = new AgentConnection(socket, events, 0, traffic);
  let ends = 0;
  let timers = 0;
  const after = (delayMs: number, run: () => void) => {
    timers += 1;
    const cancel = clock.after(delayMs, run);
    return () => {
      timers -= 1;
      cancel();
    };
  };
  const over = () => {
    ends += 1;
  };
  const [deps, client] = [
    { clock: { after, monotonicMs: () => 0 }, times: { idleMs: 1_000, totalMs: 5_000 }, over },
    { tell: () => {}, send: () => {}, close: () => {} },
  ];
  // The first one finds the connection closed, and the others have obtained it before.
  for (const stream of [new StreamRelay({ ...deps, client }), new AgentPipe(deps)])
    stream.begin(connection.channels, KEY, { kind: 'tcp', port: 1 });
  connection.channels.open(KEY, OUTPUT, 9, { chunk: () => true, message: () => true, detached: over });
  await turns();
  expect(connection.isClosed).toBe(true);
  expect([ends, timers, traffic.open, connection.channels.streams]).toEqual([3, 0, 0, 0]);
});
