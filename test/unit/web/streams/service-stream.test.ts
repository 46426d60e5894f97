import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  MAX_WAITING_BYTES,
  ServiceStream,
  SILENT_MS,
  type StreamEnd,
  SUBPROTOCOL,
  WINDOW_BYTES,
} from '../../../../control-plane/web/browser/parts/service-stream.ts';
import {
  decodeClient,
  decodeRequest,
  STREAM_SUBPROTOCOL,
} from '../../../../shared/streams/client-messages.ts';
import * as targets from '../../../../shared/streams/targets.ts';
import { playedSocket } from '../../../support/tools/played-socket.ts';

const OPENING = { type: 'exec' as const, words: ['sh'], terminal: { columns: 80, rows: 24 } };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

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
  expect([SUBPROTOCOL, WINDOW_BYTES]).toEqual([STREAM_SUBPROTOCOL, targets.TERMINAL_WINDOW_BYTES]);
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
  expect([left.socket.closeCode, left.ends]).toEqual([1000, []]);
});

/** A stream that can be resumed, and how often it was lost and resumed. */
function resumable(credit = WINDOW_BYTES) {
  const counts = { lost: 0, resumed: 0 };
  const ends: StreamEnd[] = [];
  const used: (() => void)[] = [];
  let first = playedSocket();
  const stream = new ServiceStream(
    first.socket,
    { ...OPENING, resume: true },
    {
      opened: () => {},
      output: (_, isUsed) => void used.push(isUsed),
      ended: (end) => void ends.push(end),
      lost: () => void counts.lost++,
      resumed: () => void counts.resumed++,
    },
  );
  first.fire('open');
  first.server({ type: 'opened', credit, session: 'its id' });
  /** The next socket, after its request. */
  const next = () => {
    first = playedSocket();
    stream.resume(first.socket);
    first.fire('open');
    return first;
  };
  return { stream, counts, ends, used, first, next };
}
const textsOf = ({ texts }: { texts: string[] }) => texts.map((text) => JSON.parse(text));
const inputOf = ({ binaries }: { binaries: Uint8Array[] }) => Buffer.concat(binaries).toString();
const output = (text: string) => new TextEncoder().encode(text).buffer;

test('W238: a lost stream requests the output that it lacks, and sends the input again that has not arrived', () => {
  const { stream, counts, ends, first, next } = resumable(10);
  first.fire('message', output('grüße'));
  stream.write(Buffer.from('abcdef'));
  first.fire('close');
  expect([counts, ends]).toEqual([{ lost: 1, resumed: 0 }, []]);
  stream.write(Buffer.from('ghijkl'));
  const second = next();
  expect(textsOf(second)).toEqual([{ type: 'resume', session: 'its id', received: 7 }]);
  expect(decodeRequest('exec', second.texts[0] ?? '')).toBeDefined();
  stream.resize({ columns: 1, rows: 1 });
  expect([second.texts.length, inputOf(second)]).toEqual([1, '']);
  second.server({ type: 'resumed', taken: 4, credit: 6 });
  expect([counts.resumed, inputOf(second)]).toEqual([1, 'efghij']);
  second.fire('close');
  const third = next();
  third.server({ type: 'resumed', taken: 4, credit: 8 });
  expect([counts.lost, inputOf(third)]).toEqual([2, 'efghijkl']);
});

test('W238: marks of a lost connection are returned once they come again on the next', () => {
  const { used, first, next } = resumable();
  first.fire('message', output('one'));
  first.server({ type: 'mark', mark: 'a' });
  first.fire('close');
  used[0]?.();
  const second = next();
  second.server({ type: 'resumed', taken: 0, credit: 1 });
  expect(textsOf(second)).toHaveLength(1);
  second.server({ type: 'mark', mark: 'a' });
  expect(textsOf(second)[1]).toEqual({ type: 'read', mark: 'a' });
});

test('W238: input is kept until the credit shows that it has arrived, and never more than a window of it', () => {
  const { stream, first, next } = resumable();
  stream.write(new Uint8Array(WINDOW_BYTES));
  first.server({ type: 'credit', bytes: 100 });
  stream.write(new Uint8Array(100).fill(1));
  first.fire('close');
  const second = next();
  second.server({ type: 'resumed', taken: 100, credit: WINDOW_BYTES });
  expect(Buffer.concat(second.binaries).indexOf(1)).toBe(WINDOW_BYTES - 100);
});

test('W238: a connection on which nothing comes for 60 s is lost, without the code that ends the command', () => {
  const { counts, first, next } = resumable();
  vi.advanceTimersByTime(SILENT_MS - 1);
  first.server({ type: 'mark', mark: 'a' });
  vi.advanceTimersByTime(SILENT_MS - 1);
  expect(counts.lost).toBe(0);
  vi.advanceTimersByTime(1);
  expect([counts.lost, first.socket.closeCode]).toEqual([1, 4000]);
  const second = next();
  first.fire('close');
  first.fire('message', output('late'));
  expect([counts.lost, vi.getTimerCount()]).toEqual([1, 0]);
  second.fire('close');
  expect(counts.lost).toBe(2);
});

test('W238: a stream that is refused when it resumes ends with the reason, and one that its user closes ends its command', () => {
  const refused = resumable();
  refused.first.fire('close');
  refused.next().server({ type: 'reset', message: 'There is no such stream.' });
  expect(refused.ends).toEqual([{ reason: 'There is no such stream.' }]);
  const closed = resumable();
  closed.stream.close();
  closed.first.fire('close');
  expect([closed.first.socket.closeCode, closed.counts.lost, vi.getTimerCount()]).toEqual([1000, 0, 0]);
});
