import { afterEach, expect, test, vi } from 'vitest';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import {
  decodeFrame,
  encodeFrame,
  FrameSplitter,
  noteOf,
} from '../../../control-plane/core/streams/log-frames.ts';
import { mergedLogs } from '../../../control-plane/http/api/merged-logs.ts';

afterEach(() => vi.useRealTimers());

const never = () => new ReadableStream<Uint8Array>();

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

test('W37: a failing log reports a public reason and does not affect other logs', async () => {
  const ends = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  const fails = () => Promise.reject(new Error('a secret path'));
  const reader = mergedLogs(
    new Map([
      [1, fails],
      [2, async () => ends],
    ]),
  ).getReader();
  const notes: unknown[] = [];
  for (let part = await reader.read(); part.value; part = await reader.read())
    notes.push([decodeFrame(part.value).service, noteOf(decodeFrame(part.value))]);
  expect(notes).toContainEqual([1, { trouble: 'The log stream was interrupted. Berth tries again.' }]);
  expect(notes).toContainEqual([2, { ended: true }]);
});

test('W102: a log that is refused or interrupted reports this in the stream, and does not count as ended', async () => {
  const [full, over] = ['You have 100 logs open.', 'Log in again.'];
  const broken = new ReadableStream<Uint8Array>({
    start: (controller) => controller.error(new OperationError('unauthenticated', over)),
  });
  const logs = mergedLogs(
    new Map([
      [1, () => Promise.reject(new OperationError('too-many', full))],
      [2, async () => broken],
    ]),
  );
  const bytes = new Uint8Array(await new Response(logs).arrayBuffer());
  const notes = new FrameSplitter().push(bytes).map(decodeFrame);
  expect(notes.map((frame) => [frame.service, noteOf(frame)])).toEqual([
    [1, { trouble: full }],
    [2, { trouble: over }],
  ]);
});
