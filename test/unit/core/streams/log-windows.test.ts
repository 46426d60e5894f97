import { expect, test } from 'vitest';
import {
  LogWindows,
  MIN_WINDOW_BYTES,
  smallestGrant,
  TOTAL_WINDOW_BYTES,
  windowBefore,
} from '../../../../control-plane/core/streams/log-windows.ts';
import { LOG_CHUNK_BYTES, LOG_WINDOW_BYTES } from '../../../../shared/protocol/codec.ts';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

test('P9: the first logs have whole windows, and all windows together have a bound', () => {
  const windows = new LogWindows();
  const taken = Array.from({ length: 1_000 }, () => windows.take());
  expect(new Set(taken.slice(0, 16))).toEqual(new Set([LOG_WINDOW_BYTES]));
  expect(taken).toEqual(taken.toSorted((a, b) => b - a));
  expect(taken.at(-1)).toBe(MIN_WINDOW_BYTES);
  expect(sum(taken)).toBeLessThanOrEqual(TOTAL_WINDOW_BYTES + 1_000 * MIN_WINDOW_BYTES);
});

test('P9: the windows of logs that have ended are free for others', () => {
  const windows = new LogWindows();
  for (let round = 0; round < 3; round++) {
    const taken = Array.from({ length: 300 }, () => windows.take());
    expect(taken[0]).toBe(LOG_WINDOW_BYTES);
    for (const window of taken) windows.giveBack(window);
  }
});

test('P9: a window may be given a smaller bound', () => {
  expect(new LogWindows().take(20_000)).toBe(20_000);
  expect(new LogWindows().take(1_000)).toBe(1_000);
});

test('P174: whatever the window of a reader, the largest chunk of the window before it fits in', () => {
  for (let window = MIN_WINDOW_BYTES; window <= LOG_WINDOW_BYTES; window += 999) {
    const chunk = Math.min(LOG_CHUNK_BYTES, windowBefore(window));
    expect(chunk, `window ${window}`).toBeLessThanOrEqual(window - smallestGrant(window));
  }
});
