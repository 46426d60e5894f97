import { beforeEach, expect, test } from 'vitest';
import { AgentSession } from '../../../control-plane/coordinator/agents/agent-session.ts';
import { HostConnections } from '../../../control-plane/coordinator/agents/agents.ts';
import { AgentConnection } from '../../../control-plane/coordinator/connections/agent-connection.ts';
import { MessageAllowances } from '../../../control-plane/guard/message-allowance.ts';
import { encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import { type ChannelTarget, WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { MemorySocket } from '../../support/agents/model-agent.ts';

const KIB = 1_024;
let nowMs: number;
let exceeded: number[];
let allowances: MessageAllowances;

const use = (hostId: number, length: number): number => allowances.use(hostId, length, false);

beforeEach(() => {
  nowMs = 1_000_000;
  exceeded = [];
  allowances = new MessageAllowances({ maxBytes: 32 * KIB }, { monotonicMs: () => nowMs }, (hostId) =>
    exceeded.push(hostId),
  );
});

test('P152: a host may use its whole allowance at once; then its messages wait until enough has returned, 1/32 of it in each second', () => {
  expect(use(1, 32 * KIB)).toBe(0);
  expect(use(1, 2 * KIB)).toBe(2_000);
  nowMs += 1_500;
  expect(use(1, KIB)).toBe(1_500);
  nowMs += 40_000;
  expect(use(1, 32 * KIB)).toBe(0);
});

test('P152: whatever a host has sent, it may send again after 64 s, and it does not use the allowance of another', () => {
  for (let n = 0; n < 100; n++) use(1, 32 * KIB);
  expect(use(1, KIB)).toBe(64_000);
  nowMs += 65_000;
  expect(use(1, KIB)).toBe(0);
  use(1, 100 * KIB);
  expect(use(2, 32 * KIB)).toBe(0);
});

test('P152: a clock that is set back returns nothing', () => {
  use(1, 32 * KIB);
  nowMs -= 60_000;
  expect(use(1, KIB)).toBe(1_000);
  nowMs += 2_000;
  expect(use(1, KIB)).toBe(0);
});

test('P152: an excess is reported once a minute for each host', () => {
  for (const hostId of [1, 1, 2, 2]) use(hostId, 20 * KIB * 100);
  expect(exceeded).toEqual([1, 2]);
  nowMs += 60_000;
  use(1, 1);
  expect(exceeded).toEqual([1, 2, 1]);
});

test('P152: a short message counts as 1 KiB, and one that readers of logs have caused as 64 bytes', () => {
  use(1, 32 * KIB - 1_024 - 64);
  expect(allowances.use(1, 60_000, true)).toBe(0);
  expect(use(1, 2)).toBe(0);
  expect(use(1, 5_000)).toBe(5_000 - 117);
});

test('P152: where messages take longer, each one counts as more', () => {
  allowances = new MessageAllowances(
    { maxBytes: 32 * KIB, costs: { own: 8 * KIB, requested: 512 } },
    { monotonicMs: () => nowMs },
    () => {},
  );
  for (let n = 0; n < 3; n++) expect(use(1, 2)).toBe(0);
  for (let n = 0; n < 16; n++) expect(allowances.use(1, 2, true)).toBe(0);
  expect(allowances.use(1, 2, true)).toBe(500);
});

const noEvents = { hello: () => {}, report: () => {}, bye: () => {} };

/** A connection whose every message is beyond the allowance. */
function excessive(canPause: boolean, waitMs = 3_000) {
  const socket = new MemorySocket();
  /** Whether readers caused each message. */
  const requested: boolean[] = [];
  const events: string[] = [];
  const pauses: number[] = [];
  if (canPause) Object.assign(socket, { pause: (durationMs: number) => pauses.push(durationMs) });
  const connection = new AgentConnection(
    socket,
    {
      message: ({ type }) => events.push(type),
      refused: (what) => events.push(what),
      useAllowance: (_length, isRequested) => {
        requested.push(isRequested);
        return waitMs;
      },
      closed: () => events.push('closed'),
    },
    100,
  );
  return { socket, connection, requested, events, pauses };
}

const report = encode({ type: 'report', sequence: 1, observations: [], forgotten: [] });

test.each([
  ['nothing is read for a time where a sender can be delayed', true, 3_000, ['report'], undefined],
  ['the connection closes with 4503 where a sender cannot be delayed', false, 3_000, ['closed'], 4503],
  ['the connection closes with 4503 if another allowance is in excess', true, 32_001, ['closed'], 4503],
])('P152: beyond the allowance %s', (_, canPause, waitMs, events, closeCode) => {
  const one = excessive(canPause, waitMs);
  one.connection.receive(report);
  expect(one).toMatchObject({ events, pauses: closeCode ? [] : [waitMs], socket: { closeCode } });
  if (!canPause) expect(one.socket.closeReason).toBe('too many messages: try again in 3 s');
});

const sessionOf = (connection: AgentConnection, hostId: number) =>
  new AgentSession(connection, hostId, noEvents);

test('P154: of five connections of a host the oldest closes, and one of another host does not', () => {
  const connections = new HostConnections();
  const others = excessive(true);
  const all = Array.from({ length: 5 }, () => excessive(true));
  connections.add(sessionOf(others.connection, 2));
  const sessions = all.map(({ connection }) => sessionOf(connection, 1));
  for (const session of sessions.slice(0, 4)) connections.add(session);
  expect(all.map(({ socket }) => socket.closeCode)).toEqual(Array(5).fill(undefined));
  if (sessions[1]) connections.remove(sessions[1]);
  if (sessions[4]) connections.add(sessions[4]);
  expect(all.map(({ socket }) => socket.closeCode)).toEqual(Array(5).fill(undefined));
  connections.add(sessionOf(excessive(true).connection, 1));
  expect(all.map(({ socket }) => socket.closeCode)).toEqual([4503, ...Array(4).fill(undefined)]);
  expect(others.socket.closeCode).toBeUndefined();
});

const sink = { chunk: () => true, message: () => true, detached: () => {} };

test.each<ChannelTarget>([
  { kind: 'output', offset: 0, format: 'raw' },
  { kind: 'tcp', port: 80 },
])(
  'P152: readers and clients cause the parts and messages of a channel to $kind; after it is closed, its opening, its end, and as many bytes as its credit has left',
  (target) => {
    const { connection, requested } = excessive(true);
    const key = { service: 1, generation: 1 };
    const channel = connection.channels.open(key, target, WINDOW_BYTES, sink);
    const part = (length: number, of = channel) =>
      connection.receive(encodeChunk({ channel: of, payload: new Uint8Array(length) }));
    const say = (type: 'channel.opened' | 'channel.end') => connection.receive(encode({ type, channel }));
    say('channel.opened');
    part(50_000);
    connection.channels.close(channel, false, 60_000);
    for (const length of [0, 50_000, 50_000]) part(length);
    expect(requested.splice(0)).toEqual([true, true, false, true, false]);
    for (const type of ['channel.opened', 'channel.end', 'channel.end'] as const) say(type);
    part(1, channel + 1);
    expect(requested).toEqual([true, true, false, false]);
  },
);

test('P136: a long text frame with too many levels closes with 4400 before it is parsed', () => {
  const { socket, connection, events } = excessive(true);
  const deep = (levels: number) =>
    `${report.slice(0, -1)},"more":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const long = (text: string) => text + ' '.repeat(70_000);
  connection.receive(long(deep(63)));
  expect(events).toEqual(['report']);
  connection.receive(long(deep(64)));
  expect(socket).toMatchObject({ closeCode: 4400, closeReason: expect.stringContaining('65 levels') });
});
