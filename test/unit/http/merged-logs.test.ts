import { afterEach, expect, test, vi } from 'vitest';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { mergedLogs } from '../../../control-plane/http/api/merged-logs.ts';
import { decodeFrame, encodeFrame, FrameSplitter, noteOf } from '../../../shared/streams/log-frames.ts';

afterEach(() => vi.useRealTimers());

const never = () => new ReadableStream<Uint8Array>();
const failing = (error: Error) => new ReadableStream<Uint8Array>({ start: (one) => one.error(error) });

test('W38: an idle stream sends a heartbeat every 15 s', async () => {
  vi.useFakeTimers();
  const reader = mergedLogs(new Map([[1, async () => never()]])).getReader();
  for (const _ of [1, 2]) {
    const next = reader.read();
    await vi.advanceTimersByTimeAsync(15_000);
    const { value } = await next;
    expect(value && decodeFrame(value).service).toBe(0);
  }
  await reader.cancel();
  expect(vi.getTimerCount()).toBe(0);
});

test('W38: at most one piece of each service waits, however much output there is', async () => {
  let pulled = 0;
  const payload = new Uint8Array(1000);
  const source = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(encodeFrame({ service: 1, position: { generation: 1, offset: pulled }, payload }));
      },
    });
  const merged = mergedLogs(new Map([[1, async () => source()]]));
  await new Promise((resolve) => setImmediate(resolve));
  expect(pulled).toBeLessThan(6);
  await merged.cancel();
});

test('W37, W102: a log that fails, is refused or interrupted reports a public reason, does not count as ended, and does not affect other logs', async () => {
  const [full, over] = ['You have 100 logs open.', 'Log in again.'];
  const ends = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  const logs = mergedLogs(
    new Map([
      [1, () => Promise.reject(new Error('a secret path'))],
      [2, async () => ends],
      [3, () => Promise.reject(new OperationError('too-many', full))],
      [4, async () => failing(new OperationError('unauthenticated', over))],
    ]),
  );
  const bytes = new Uint8Array(await new Response(logs).arrayBuffer());
  const notes = new FrameSplitter().push(bytes).map(decodeFrame);
  expect(Object.fromEntries(notes.map((frame) => [frame.service, noteOf(frame)]))).toEqual({
    1: { trouble: 'The log stream was interrupted. Berth tries again.' },
    2: { ended: true },
    3: { trouble: full },
    4: { trouble: over },
  });
  expect(notes).toHaveLength(4);
});
