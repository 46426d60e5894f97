import { expect, test } from 'vitest';
import type { ExecutionView } from '../../../control-plane/core/views/execution-views.ts';
import type { Context } from '../../../control-plane/operations/context.ts';
import { withWaitingReasons } from '../../../control-plane/operations/executions/waiting.ts';

/** Queued and running by turns. */
const page = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: first + at, status: at % 2 ? 'running' : 'queued' }));

async function* pages() {
  for (const [first, count] of [[0, 150] as const, [150, 150] as const, [300, 4] as const])
    yield page(first, count) as ExecutionView[];
}

test('H657: of a long list the first 100 queued executions have reasons, and the coordinator is asked for no others', async () => {
  const asked: number[][] = [];
  const waitingReasons = async (ids: readonly number[]) => {
    asked.push([...ids]);
    return ids.map((executionId) => ({ executionId, waitingFor: [`reason of ${executionId}`] }));
  };
  const coordinator = { waitingReasons } as unknown as Context['coordinator'];
  const listed = [];
  for await (const one of withWaitingReasons({ coordinator }, pages())) listed.push(...one);
  expect(asked.map(({ length }) => length)).toEqual([75, 25]);
  expect(listed.filter(({ waitingFor }) => waitingFor)).toHaveLength(100);
  expect(listed[0]).toMatchObject({ id: 0, waitingFor: ['reason of 0'] });
  expect(listed).toHaveLength(304);
});
