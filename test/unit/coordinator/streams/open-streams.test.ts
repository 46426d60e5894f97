/** Numbers of streams on one connection of an agent. */
import { expect, test } from 'vitest';
import { AgentConnection } from '../../../../control-plane/coordinator/connections/agent-connection.ts';
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
