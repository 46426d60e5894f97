import { expect, test } from 'vitest';
import { collectMs } from '../../../../control-plane/core/streams/log-collection.ts';

test('P178: few logs are not delayed, and the more there are the longer their output is collected, up to 200 ms', () => {
  const times = [0, 1, 10, 11, 20, 21, 40, 41, 80, 81, 100, 1_000].map(collectMs);
  expect(times).toEqual([0, 0, 0, 40, 40, 80, 80, 160, 160, 200, 200, 200]);
});

test('P178: up to a hundred logs take some 500 messages a second', () => {
  for (let open = 11; open <= 100; open++) {
    const messagesPerS = (open * 1_000) / collectMs(open);
    expect(messagesPerS).toBeGreaterThan(250);
    expect(messagesPerS).toBeLessThanOrEqual(500);
  }
});
