import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LogFeed } from '../../../control-plane/web/browser/logs/log-feed.ts';
import { encodeFrame, encodeNote, type LogNote } from '../../../shared/streams/log-frames.ts';

const payload = new TextEncoder().encode('line\n');
const output = (offset: number) => encodeFrame({ service: 7, position: { generation: 1, offset }, payload });

/** The response of each request in turn: frames, then silence, an end, or an error. */
type Answer = { frames: Uint8Array[]; after: 'silence' | 'end' | 'break' } | { status: number };

let requested: string[];
let events: string[];
let answers: Answer[];

beforeEach(() => {
  vi.useFakeTimers();
  [requested, events, answers] = [[], [], []];
  vi.stubGlobal('fetch', async (url: string, { signal }: { signal: AbortSignal }) => {
    requested.push(url);
    const answer = answers.shift();
    if (!answer) throw new TypeError('no connection');
    return 'status' in answer
      ? new Response('', answer)
      : new Response(streamOf(answer.frames, answer.after, signal));
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function streamOf(frames: Uint8Array[], after: string, signal: AbortSignal): ReadableStream<Uint8Array> {
  const left = [...frames];
  return new ReadableStream({
    start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
    pull(controller) {
      const frame = left.shift();
      if (frame) controller.enqueue(frame);
      else if (after === 'end') controller.close();
      else if (after === 'break') controller.error(new Error('broken'));
    },
  });
}

const feed = () =>
  new LogFeed('/stream', [7], {
    output: (_service, _generation, bytes) => events.push(`${bytes.byteLength} bytes`),
    note: (_service, note: LogNote) => events.push(Object.keys(note).join()),
    connected: () => events.push('connected'),
    lost: () => events.push('lost'),
    gone: () => events.push('gone'),
    loggedOut: () => events.push('logged out'),
    space: () => undefined,
  });

test('W31: an interrupted stream is requested again from its position, until the log has ended', async () => {
  answers = [
    { frames: [output(10), output(20).subarray(0, 22)], after: 'break' },
    { status: 503 },
    { frames: [output(20), encodeNote(7, { ended: true })], after: 'end' },
  ];
  const run = feed().start();
  await vi.advanceTimersByTimeAsync(5_000);
  await run;
  expect(requested).toEqual(['/stream?from=7.1.0', '/stream?from=7.1.10', '/stream?from=7.1.10']);
  expect(events).toEqual(['connected', '5 bytes', 'lost', 'lost', 'connected', '5 bytes', 'ended']);
});

test('W31: a connection without output and heartbeats is replaced', async () => {
  answers = [
    { frames: [output(10)], after: 'silence' },
    { frames: [], after: 'silence' },
  ];
  const one = feed();
  const run = one.start();
  await vi.advanceTimersByTimeAsync(44_000);
  expect(requested).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(requested).toEqual(['/stream?from=7.1.0', '/stream?from=7.1.10']);
  const stop = one.stop();
  await vi.advanceTimersByTimeAsync(100);
  await Promise.all([run, stop]);
});

test.each([403, 404])(
  'W37, W102: a log that can not be read now is requested again, and one that is %i is not',
  async (status) => {
    answers = [{ frames: [encodeNote(7, { trouble: 'away' })], after: 'end' }, { status }];
    const run = feed().start();
    await vi.advanceTimersByTimeAsync(60_000);
    await run;
    expect(requested).toHaveLength(2);
    expect(events).toEqual(['connected', 'trouble', 'gone']);
  },
);
