import { expect, test } from 'vitest';
import { textStream } from '../../../control-plane/http/text-stream.ts';
import { linesOf } from '../../../control-plane/http/variants/zoe-log.ts';

/** A source without any further output, which records its cancellation. */
const silent = (output?: string) => {
  const source = { isCancelled: false };
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => output && controller.enqueue(new TextEncoder().encode(output)),
    cancel: () => {
      source.isCancelled = true;
    },
  });
  return Object.assign(source, { stream });
};

test('H162, H44: a log whose header cannot be read fails, and is cancelled at its host', async () => {
  const log = silent('output');
  const lines = linesOf(log.stream, undefined, () => Promise.reject(new Error('the database is away')));
  await expect(new Response(lines).text()).rejects.toThrow('the database is away');
  expect(log.isCancelled).toBe(true);
});

test('H44: a cancelled text stream cancels its source, even during a pending read', async () => {
  const source = silent();
  const reader = textStream(source.stream, async function* (from) {
    yield 'first';
    await from.read();
  }).getReader();
  await reader.read();
  const waiting = reader.read();
  await reader.cancel();
  expect([(await waiting).done, source.isCancelled]).toEqual([true, true]);
});

test('H43: a text stream fails when its source fails', async () => {
  const source = new ReadableStream({ start: (controller) => controller.error(new Error('broken')) });
  const text = textStream(source, async function* (from) {
    await from.read();
    yield 'never';
  });
  await expect(new Response(text).text()).rejects.toThrow('broken');
});
