/** Numbers of streams on one connection of an agent. */
import { expect, test } from 'vitest';
import { AgentConnection } from '../../../../control-plane/coordinator/connections/agent-connection.ts';
import { OpenStreams } from '../../../../control-plane/coordinator/connections/open-streams.ts';
import { decodeDown, encode, encodeChunk } from '../../../../shared/protocol/codec.ts';
import { STREAM_NUMBERS, type StreamTarget } from '../../../../shared/streams/targets.ts';

const KEY = { service: 7, generation: 1 };
const TARGET: StreamTarget = { kind: 'tcp', port: 80 };

/** A connection whose first number follows from the time. */
function connection(firstStream: number) {
  const sent: number[] = [];
  const refused: string[] = [];
  const received: string[] = [];
  const agent = new AgentConnection(
    {
      send: (data) => {
        const message = typeof data === 'string' ? decodeDown(data) : undefined;
        if (message?.type === 'stream.open') sent.push(message.stream);
      },
      close: () => {},
    },
    {
      ...{ message: () => {}, closed: () => {}, useAllowance: () => 0 },
      refused: (what) => refused.push(what),
    },
    firstStream,
  );
  const open = () =>
    agent.streams.open(KEY, TARGET, 1_000, {
      chunk: (bytes) => received.push(Buffer.from(bytes).toString()) > 0,
      message: ({ type }) => received.push(type) > 0,
      detached: () => {},
    });
  return { agent, open, sent, refused, received };
}

const bytes = (stream: number) => encodeChunk({ stream, next: 5, payload: Buffer.from('bytes') });

test('P280: after a sleep of the gateway, what was in transit for an earlier stream reaches no later one', () => {
  const before = connection(1_000);
  const earlier = before.open();
  const after = connection(11_000);
  const later = after.open();
  expect(later).not.toBe(earlier);
  after.agent.receive(encode({ type: 'stream.opened', stream: earlier, credit: 1_000 }));
  expect([after.received, after.refused.length]).toEqual([[], 1]);
  expect(after.agent.isClosed).toBe(true);
});
test('P252, P280: numbers go on from the first one, also beyond the largest, and late bytes are ignored', () => {
  const { agent, open, sent, refused, received } = connection(STREAM_NUMBERS - 1);
  const [last, first] = [open(), open()];
  expect(sent).toEqual([2 ** 32 - 1, STREAM_NUMBERS]);
  agent.receive(bytes(first));
  expect(received).toEqual(['bytes']);
  for (const closed of [last, first]) {
    agent.streams.close(closed, true);
    agent.receive(bytes(closed));
  }
  expect([received, refused]).toEqual([['bytes'], []]);
  agent.receive(bytes(STREAM_NUMBERS + 1));
  expect(refused).toEqual(['bytes of a stream that was not opened']);
});

test('P250: a stream is passed on and counted until it is over, and what is not allowed is refused', () => {
  const told: string[] = [];
  const refused: string[] = [];
  const traffic = { toServices: 0, fromServices: 0 };
  let isAllowed = true;
  const streams = new OpenStreams({
    ...{ traffic, refused: (what) => refused.push(what), sendText: ({ type }) => told.push(type) },
    sendBytes: (frame) => told.push(`${frame.length}`),
  });
  const sink = { chunk: () => isAllowed, message: () => isAllowed, detached: () => {} };
  const [one, two] = [streams.open(KEY, TARGET, 1_000, sink), streams.open(KEY, TARGET, 1_000, sink)];
  const opened = { type: 'stream.opened', stream: one, credit: 1 } as const;
  const chunk = { stream: one, next: 3, payload: new Uint8Array(3) };
  const use = () => {
    streams.chunk(chunk);
    streams.receive(opened);
    streams.sendBytes(one, bytes(one));
    streams.send({ type: 'stream.end', stream: one });
  };
  use();
  expect([streams.size, streams.isBehind, streams.isRequested(one), traffic]).toEqual([
    ...[2, false, true],
    { toServices: 5, fromServices: 3 },
  ]);
  expect(told.splice(0)).toEqual(['stream.open', 'stream.open', `${bytes(one).length}`, 'stream.end']);
  streams.chunk({ ...chunk, payload: new Uint8Array() });
  isAllowed = false;
  use();
  expect(refused.splice(0)).toEqual([
    ...['more bytes than the credit of a stream', 'more bytes than the credit of a stream'],
    'an unexpected stream.opened',
  ]);
  told.length = 0;
  for (const isKnown of [false, false]) streams.close(one, isKnown);
  use();
  expect([told, refused, streams.isRequested(one)]).toEqual([['stream.reset'], [], false]);
  streams.receive({ ...opened, stream: two + 1 });
  expect(refused).toEqual(['a message for a stream that was not opened']);
  expect([streams.detach(), streams.size]).toEqual([[sink], 0]);
});
