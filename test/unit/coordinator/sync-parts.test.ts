import { expect, test } from 'vitest';
import { syncParts } from '../../../control-plane/coordinator/agents/sync-parts.ts';
import { assignment } from '../../support/fixtures/assignments.ts';

const many = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) =>
    assignment({ service: at + 1, environment: [['A', 'x'.repeat(length)]] }),
  );

test('P138: a part of a sync has at most 100 assignments', () => {
  expect(syncParts(many(250, 1)).map((part) => part.length)).toEqual([100, 100, 50]);
});

test('P138: a part has at most 1 MiB of text, or a single assignment', () => {
  const large = many(5, 400_000);
  const huge = many(2, 3_000_000);
  const parts = syncParts([...large, ...huge]);
  expect(parts.map((part) => part.length)).toEqual([2, 2, 1, 1, 1]);
  expect(parts.flat()).toEqual([...large, ...huge]);
});

test('P138: a host without assignments gets one empty part', () => {
  expect(syncParts([])).toEqual([[]]);
});
