import { expect, test } from 'vitest';
import { AgentConnection } from '../../../control-plane/coordinator/connections/agent-connection.ts';
import { LogRelay, type LogSource } from '../../../control-plane/coordinator/streams/log-relay.ts';
import { encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import {
  decodeFrame,
  encodeFrame,
  FrameSplitter,
  type LogPosition,
} from '../../../shared/streams/log-frames.ts';
import { MemorySocket } from '../../support/agents/model-agent.ts';
import { RelayRig, settle } from '../../support/rigs/log-relay.ts';

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const frames = async (relay: LogRelay): Promise<[LogPosition, string][]> => {
  const bytes = new Uint8Array(await new Response(relay.stream).arrayBuffer());
  const found = new FrameSplitter().push(bytes).map(decodeFrame);
  return found.map(({ position, payload }) => [position, new TextDecoder().decode(payload)]);
};
const all = (relay: LogRelay): Promise<string> => new Response(relay.stream).text();

test('P10: a log whose connection is lost waits for the next one, and continues there at the last position, under a new number', async () => {
  const rig = new RelayRig().attach();
  const received = all(rig.relay);
  rig.send(10, text('one '));
  const before = rig.channel;
  rig.connection?.closed();
  rig.relay.update();
  expect(rig.opens).toHaveLength(1);
  rig.attach();
  expect(rig.opens).toMatchObject([{ generation: 1, target: { offset: 10 } }]);
  expect(rig.channel).not.toBe(before);
  rig.send(20, text('two'));
  rig.know({ final: true });
  rig.end('exited');
  expect(await received).toBe('one two');
});

test('H827: a log says once that its host is lost, in a line or as a note, and continues once it is back', async () => {
  for (const from of [undefined, { generation: 1, offset: 0 }]) {
    const rig = new RelayRig(from).attach();
    const received = all(rig.relay);
    rig.send(3, text('one'));
    rig.connection?.closed();
    rig.know({ away: 'Host h is lost.' });
    rig.know({ away: 'Host h is lost.' });
    rig.know({ away: undefined });
    rig.attach();
    rig.send(6, text('two'));
    rig.know({ final: true });
    rig.end('exited');
    const output = await received;
    if (from)
      expect(output.match(/one|two|\{[^}]*\}/g)).toEqual(['one', '{"trouble":"Host h is lost."}', 'two']);
    else expect(output).toBe('one\n[berth] Host h is lost.\ntwo');
  }
});

test('P10: a stream ends once, after the last byte of the last start', async () => {
  const rig = new RelayRig().attach();
  rig.know({ final: true });
  rig.send(5, text('hello'));
  rig.end('exited');
  expect(await all(rig.relay)).toBe('hello');
  rig.relay.update();
  expect(rig.done).toBe(1);
});

test('P10: a subscriber that waits at the end is released', async () => {
  const rig = new RelayRig().attach();
  rig.know({ final: true });
  const waiting = rig.relay.stream.getReader().read();
  await settle();
  rig.end('exited');
  expect((await waiting).done).toBe(true);
});

test('P10: the output of later starts follows that of the first, and a start that left no log is skipped', async () => {
  const rig = new RelayRig().attach();
  const received = all(rig.relay);
  rig.send(4, text('one '));
  rig.end('exited');
  expect(rig.opens).toHaveLength(1);
  rig.know({ generation: 2 });
  expect(rig.opens.at(-1)).toMatchObject({ generation: 2, target: { offset: 0 } });
  rig.send(4, text('two '));
  rig.know({ generation: 4, final: true });
  rig.end('exited');
  rig.end('missing');
  expect(rig.opens.at(-1)).toMatchObject({ generation: 4, target: { offset: 0 } });
  rig.send(5, text('three'));
  rig.end('exited');
  expect(await received).toBe('one two three');
});

test('C45: with times, a start begins with a new line, and as bytes the output is as it was written', async () => {
  for (const [format, between] of [
    ['timestamps', '\n'],
    ['raw', ''],
  ] as const) {
    const rig = new RelayRig(undefined, undefined, format).attach();
    const received = all(rig.relay);
    rig.know({ generation: 3, final: true });
    rig.send(1, text('2026-01-01 12:00:00 cut'));
    rig.end('exited');
    rig.end('missing');
    rig.send(1, text('2026-01-01 12:00:01 whole\n'));
    rig.end('exited');
    expect(await received).toBe(`2026-01-01 12:00:00 cut${between}2026-01-01 12:00:01 whole\n`);
  }
});

test('W31: a subscriber with a position begins there, and receives the position after each piece', async () => {
  const rig = new RelayRig({ generation: 2, offset: 40 });
  rig.source = { ...rig.source, generation: 3 };
  rig.attach();
  expect(rig.opens).toMatchObject([{ generation: 2, target: { offset: 40 } }]);
  const received = frames(rig.relay);
  rig.send(44, text('more'));
  rig.end('exited');
  rig.know({ final: true });
  rig.send(3, text('two'));
  rig.end('exited');
  expect(await received).toEqual([
    [{ generation: 2, offset: 44 }, 'more'],
    [{ generation: 3, offset: 3 }, 'two'],
  ]);
});

test('W37: a waiting subscriber receives one note for each start without a log, and continues', async () => {
  const rig = new RelayRig({ generation: 1, offset: 0 }).attach();
  const received = frames(rig.relay);
  rig.know({ generation: 2 });
  rig.end('missing');
  await settle();
  rig.send(3, text('two'));
  rig.know({ removed: true, generation: 3, final: false });
  rig.end('exited');
  rig.know({ final: true });
  expect(await received).toEqual([
    [{ generation: 0, offset: 0 }, '{"missing":1}'],
    [{ generation: 2, offset: 3 }, 'two'],
    [{ generation: 0, offset: 0 }, '{"missing":3}'],
  ]);
  expect(rig.opens.map(({ generation }) => generation)).toEqual([1, 2]);
});

test('C45: the stream of a service that never started waits, and ends with its execution', async () => {
  const rig = new RelayRig();
  rig.source = { generation: 0, channels: undefined, removed: false, final: false };
  rig.relay.update();
  expect(rig.done).toBe(0);
  rig.know({ final: true });
  expect(await all(rig.relay)).toBe('');
  expect(rig.done).toBe(1);
});

test('C45: a log that the host cannot read is an error for the subscriber, with the reason', async () => {
  const rig = new RelayRig().attach();
  rig.end('failed', 'disk on fire');
  await expect(all(rig.relay)).rejects.toThrow('disk on fire');
  expect(rig.done).toBe(1);
});

test('C96, C123: the removal of the host aborts a log of which the subscriber has read a part, or that its output is no longer available elsewhere', async () => {
  const rig = new RelayRig().attach();
  rig.send(4, text('half'));
  rig.connection?.close(4403, 'revoked');
  rig.know({ removed: true });
  await expect(all(rig.relay)).rejects.toThrow('removed');
  const moved = new RelayRig().attach();
  moved.send(4, text('half'));
  moved.connection?.close(4000, 'resync');
  // Its host was lost. The service is now on another one, which does not have that start.
  moved.know({ generation: 2 });
  moved.attach();
  moved.end('missing');
  await expect(all(moved.relay)).rejects.toThrow('no longer available');
});

test('C96: a subscriber that has read nothing of a lost log continues with the next start elsewhere, or ends', async () => {
  const rig = new RelayRig().attach();
  rig.connection?.close(4403, 'revoked');
  rig.know({ removed: true });
  expect(rig.done).toBe(0);
  rig.know({ removed: false, generation: 2 });
  rig.attach();
  expect(rig.opens).toMatchObject([{ generation: 2, target: { offset: 0 } }]);
  rig.connection?.close(4403, 'revoked');
  rig.know({ removed: true, final: true });
  expect(await all(rig.relay)).toBe('');
});

test('C45: a subscriber that leaves closes the channel at the agent', async () => {
  const rig = new RelayRig().attach();
  await rig.relay.stream.cancel();
  expect(rig.socket.all('channel.reset')).toEqual([{ type: 'channel.reset', channel: rig.channel }]);
  expect(rig.done).toBe(1);
  rig.send(5, text('late'));
  rig.know({ generation: 2 });
  expect(rig.opens).toHaveLength(1);
});

test('C45: the bytes of a chunk are copied, since a socket may reuse its buffer', async () => {
  const rig = new RelayRig().attach();
  const position = { generation: 1, offset: 4 };
  const frame = encodeFrame({ service: 7, position, payload: text('keep') });
  const buffer = Buffer.from(encodeChunk({ channel: rig.channel, payload: frame }));
  rig.connection?.receive(buffer);
  buffer.fill(0);
  const { value } = await rig.relay.stream.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('keep');
});

test.each([
  ['a frame of another service', { service: 8 }, 0],
  ['a frame of another start', { position: { generation: 2, offset: 1 } }, 0],
  ['a note in place of output', { position: { generation: 0, offset: 0 } }, 0],
  ...[-1, 1.5, Number.NaN, 1e15].map((offset): [string, object, number] => [
    `a frame at the position ${offset}`,
    { position: { generation: 1, offset } },
    0,
  ]),
  ['a frame that is cut off', {}, -1],
  ['more than a frame', {}, 1],
  ['less than the head of a frame', {}, -5],
])('P10: a host that sends %s on a channel to output is refused with 4400', async (_, change, more) => {
  const rig = new RelayRig().attach();
  const frame = { service: 7, position: { generation: 1, offset: 4 }, payload: text('four'), ...change };
  const bytes = encodeFrame(frame);
  const payload = new Uint8Array(bytes.length + more);
  payload.set(bytes.subarray(0, payload.length));
  rig.connection?.receive(encodeChunk({ channel: rig.channel, payload }));
  expect([rig.refused.length, rig.socket.closeCode]).toEqual([1, 4400]);
  rig.attach();
  rig.send(2, text('ok'));
  rig.know({ final: true });
  rig.end('exited');
  expect(await all(rig.relay)).toBe('ok');
});

test('P10: a chunk of a channel that is over is ignored', async () => {
  const rig = new RelayRig().attach();
  const { channel } = rig;
  await rig.relay.stream.cancel();
  rig.connection?.receive(encodeChunk({ channel, payload: text('x') }));
  expect([rig.refused, rig.socket.all('channel.reset').length]).toEqual([[], 1]);
});

test('C45: a stream continues with a start that came and ended with its execution while an earlier start was read', async () => {
  // As of the coordinator: once the execution has ended, its last known location is returned.
  let live: number | undefined = 1;
  let last = 1;
  const socket = new MemorySocket();
  const events = { message: () => {}, refused: () => {}, useAllowance: () => 0, closed: () => {} };
  const connection = new AgentConnection(socket, events, 100);
  const { channels } = connection;
  const source = (): LogSource => {
    last = live ?? last;
    return { generation: last, channels, removed: false, final: live === undefined };
  };
  const relay = new LogRelay({ service: 7, format: 'raw', source, done: () => {} });
  relay.update();
  for (const generation of [2, undefined]) {
    live = generation;
    relay.update();
  }
  const channel = socket.all('channel.open')[0]?.channel ?? -1;
  connection.receive(encode({ type: 'channel.end', channel }));
  expect(socket.all('channel.open').map(({ generation }) => generation)).toEqual([1, 2]);
});
