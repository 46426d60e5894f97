import { expect, test } from 'vitest';
import {
  gatewayWindows,
  logWindows,
  smallestGrant,
  Windows,
} from '../../../../control-plane/core/streams/windows.ts';
import { WINDOW_BYTES } from '../../../../shared/streams/targets.ts';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

test.each([
  ['logs', logWindows, 16],
  ['a gateway', gatewayWindows, 64],
])('P9: the first windows of %s are whole, and all together have a bound', (_, bounds, whole) => {
  const windows = new Windows(bounds);
  const taken = Array.from({ length: 2_000 }, () => windows.take());
  expect(new Set(taken.slice(0, whole))).toEqual(new Set([WINDOW_BYTES]));
  expect(taken).toEqual(taken.toSorted((a, b) => b - a));
  expect(taken.at(-1)).toBe(bounds.leastBytes);
  expect(sum(taken)).toBeLessThanOrEqual(bounds.totalBytes + 2_000 * bounds.leastBytes);
});

test('P9: the windows of channels that have ended are free for others', () => {
  const windows = new Windows();
  for (let round = 0; round < 3; round++) {
    const taken = Array.from({ length: 300 }, () => windows.take());
    expect(taken[0]).toBe(WINDOW_BYTES);
    for (const window of taken) windows.giveBack(window);
  }
});

test('P9: a window may be given a smaller bound', () => {
  expect(new Windows().take(20_000)).toBe(20_000);
  expect(new Windows().take(1_000)).toBe(1_000);
});

test('P174: whatever the window of a reader, and that of the gateway before it, the longest line fits in beside credit that is too little to grant', () => {
  // A line of 16 KiB with its end and its time, in a frame.
  const longest = 16 * 1024 + 64;
  for (let window = logWindows.leastBytes; window <= WINDOW_BYTES; window += 100) {
    const atGateway = Math.min(window, gatewayWindows.leastBytes);
    expect(atGateway - smallestGrant(window), `window ${window}`).toBeGreaterThanOrEqual(longest);
  }
});
