import { expect, test } from 'vitest';
import { textStream } from '../../../control-plane/http/text-stream.ts';
import { linesOf } from '../../../control-plane/http/variants/zoe-log.ts';

/** Output that never comes; tells when it is left. */
const silent = () => {
  const source = { isLeft: false };
  const stream = new ReadableStream<Uint8Array>({
    cancel: () => {
      source.isLeft = true;
    },
  });
  return Object.assign(source, { stream });
};

test('H162, H44: a log whose header can not be read breaks off, and is left at its host', async () => {
  const log = silent();
  const lines = linesOf(log.stream, () => Promise.reject(new Error('the database is away')));
  await expect(new Response(lines).text()).rejects.toThrow('the database is away');
  expect(log.isLeft).toBe(true);
});

test('H44: text that is left leaves what it is made of, also while it waits for that', async () => {
  const source = silent();
  const reader = textStream(source.stream, async function* (from) {
    yield 'first';
    await from.read();
  }).getReader();
  await reader.read();
  const waiting = reader.read();
  await reader.cancel();
  expect([(await waiting).done, source.isLeft]).toEqual([true, true]);
});

test('H43: text whose source breaks off breaks off', async () => {
  const source = new ReadableStream<Uint8Array>({
    start: (controller) => controller.error(new Error('broken')),
  });
  const text = textStream(source, async function* (from) {
    await from.read();
    yield 'never';
  });
  await expect(new Response(text).text()).rejects.toThrow('broken');
});
