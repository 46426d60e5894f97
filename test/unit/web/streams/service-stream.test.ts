import { expect, test } from 'vitest';
import {
  MAX_WAITING_BYTES,
  ServiceStream,
  type StreamEnd,
  SUBPROTOCOL,
} from '../../../../control-plane/web/browser/parts/service-stream.ts';
import { decodeClient, STREAM_SUBPROTOCOL } from '../../../../shared/streams/client-messages.ts';
import { playedSocket } from '../../../support/tools/played-socket.ts';

const OPENING = { type: 'exec' as const, words: ['sh'], terminal: { columns: 80, rows: 24 } };

function opened() {
  const { socket, binaries, fire, ...played } = playedSocket();
  const shown: { bytes: Uint8Array; used: () => void }[] = [];
  const ends: StreamEnd[] = [];
  let openings = 0;
  const stream = new ServiceStream(socket, OPENING, {
    opened: () => {
      openings += 1;
    },
    output: (bytes, used) => shown.push({ bytes, used }),
    ended: (end) => ends.push(end),
  });
  return {
    ...{ ...played, stream, socket, binaries, shown, ends, fire },
    openings: () => openings,
    output: (text: string) => fire('message', new TextEncoder().encode(text).buffer),
    input: () => Buffer.concat(binaries).toString(),
  };
}

const accepted = (credit = 262_144) => {
  const all = opened();
  all.fire('open');
  all.server({ type: 'opened', credit });
  return all;
};

test('W202: a stream requests its command first, and sends nothing else before it is connected', () => {
  const { stream, socket, texts, input, fire, server, openings } = opened();
  expect(SUBPROTOCOL).toBe(STREAM_SUBPROTOCOL);
  expect(socket.binaryType).toBe('arraybuffer');
  stream.resize({ columns: 90, rows: 30 });
  stream.write(Buffer.from('ls\r'));
  fire('open');
  stream.resize({ columns: 91, rows: 30 });
  expect(texts.map((text) => JSON.parse(text))).toEqual([OPENING]);
  expect(input()).toBe('');
  server({ type: 'opened', credit: 100 });
  expect(openings()).toBe(1);
  expect(input()).toBe('ls\r');
  stream.resize({ columns: 92, rows: 30 });
  expect(decodeClient(texts[1] ?? '')).toEqual({ type: 'resize', columns: 92, rows: 30 });
});

test('W205: a mark is returned once all output before it is shown, and not before', () => {
  const { shown, texts, server, output } = accepted();
  const returned = () => texts.slice(1).map((text) => decodeClient(text));
  output('one');
  output('two');
  server({ type: 'mark', mark: 'a' });
  output('three');
  server({ type: 'mark', mark: 'b' });
  server({ type: 'mark', mark: 'c' });
  shown[0]?.used();
  expect(returned()).toEqual([]);
  shown[1]?.used();
  expect(returned()).toEqual([{ type: 'read', mark: 'a' }]);
  shown[2]?.used();
  server({ type: 'mark', mark: 'd' });
  expect(returned()).toEqual(['a', 'b', 'c', 'd'].map((mark) => ({ type: 'read', mark })));
});

test('W205: input never exceeds the credit, comes in chunks of 64 KiB and in order', () => {
  const { stream, binaries, input, server } = accepted(5);
  expect(['abc', 'def', 'ghi'].map((text) => stream.write(Buffer.from(text)))).toEqual([true, true, true]);
  expect(input()).toBe('abcde');
  server({ type: 'credit', bytes: 2 });
  expect(input()).toBe('abcdefg');
  server({ type: 'credit', bytes: 262_144 });
  expect(input()).toBe('abcdefghi');
  stream.write(new Uint8Array(150_000));
  expect(binaries.slice(-3).map(({ length }) => length)).toEqual([65_536, 65_536, 18_928]);
});

test('W205: input beyond 1 MiB that waits is dropped, and what waits in many pieces is sent at once', () => {
  const { stream, binaries, input, server } = accepted(1);
  stream.write(Buffer.from('x'));
  const reply = Buffer.from('\x1b[1;1R');
  let taken = 0;
  while (stream.write(reply)) taken += 1;
  expect(taken).toBe(Math.floor(MAX_WAITING_BYTES / reply.length));
  const before = binaries.length;
  for (let sent = 0; sent < MAX_WAITING_BYTES; sent += 4_096) server({ type: 'credit', bytes: 4_096 });
  expect(binaries.length - before).toBe(MAX_WAITING_BYTES / 4_096);
  expect(input()).toBe(`x${'\x1b[1;1R'.repeat(taken)}`);
  expect(stream.write(reply)).toBe(true);
});

test('W203: a stream ends once, with the exit code, the reason, or what is known of its connection', () => {
  const byCode = accepted();
  byCode.server({ type: 'end' });
  expect(byCode.ends).toEqual([]);
  byCode.server({ type: 'end', exit_code: 0 });
  byCode.fire('close');
  expect(byCode.ends).toEqual([{ exitCode: 0 }]);
  const byReset = accepted();
  byReset.server({ type: 'reset', message: 'The service has ended.' });
  byReset.fire('close');
  expect(byReset.ends).toEqual([{ reason: 'The service has ended.' }]);
  expect(byReset.stream.write(Buffer.from('late'))).toBe(false);
  const lost = accepted();
  lost.fire('close');
  expect(lost.ends).toEqual(['lost']);
  const refused = opened();
  refused.fire('close');
  expect(refused.ends).toEqual(['refused']);
  const left = accepted();
  left.stream.close();
  left.fire('close');
  expect([left.socket.isClosed, left.ends]).toEqual([true, []]);
});
