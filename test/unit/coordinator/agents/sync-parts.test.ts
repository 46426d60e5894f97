import { expect, test } from 'vitest';
import { syncParts } from '../../../../control-plane/coordinator/agents/agent-session.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

const many = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) =>
    assignment({ service: at + 1, environment: [['A', 'x'.repeat(length)]] }),
  );

const lengthsOf = (assignments: readonly Assignment[]) =>
  [...syncParts(assignments)].map((part) => part.assignments.length);

test('P138: a part has at most 1 MiB of text, or a single assignment', () => {
  const given = [...many(5, 400_000), ...many(2, 3_000_000)];
  expect(lengthsOf(given)).toEqual([2, 2, 1, 1, 1]);
  expect([...syncParts(given)].flatMap(({ assignments }) => assignments)).toEqual(given);
});

test('P138: a host without assignments gets one empty part', () => {
  expect([...syncParts([])]).toEqual([{ assignments: [], more: false }]);
});

test('P138: assignments are made only when their part is due', () => {
  let made = 0;
  const parts = syncParts(
    (function* () {
      for (const one of many(250, 1)) {
        made += 1;
        yield one;
      }
    })(),
  );
  parts.next();
  expect(made).toBe(101);
});
