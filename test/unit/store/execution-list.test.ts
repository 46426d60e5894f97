/** Lists of executions that take more than one page, while others are submitted. */
import { beforeEach, expect, test } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { listExecutions } from '../../../control-plane/store/executions/executions.ts';
import { addExecutions } from '../../support/fixtures/execution-rows.ts';
import { testDatabase } from '../../support/hosts/memory-database.ts';

/** Two of them are more than a page. */
const LONG = { text: 'x'.repeat(700_000) };

let db: Db;
beforeEach(async () => {
  db = await testDatabase();
});

const submit = (...ids: number[]) => {
  const same = { name: 'job', userId: 1, status: 'terminated' as const };
  const rows = ids.map((id) => ({ ...same, id, submitMs: id, startMs: id, endMs: id }));
  return addExecutions(db, rows, LONG);
};

/** The pages of the list; `between` runs after the first one. */
async function pagesOf(limit: number | undefined, between: () => Promise<void>): Promise<number[][]> {
  const pages: number[][] = [];
  for await (const page of listExecutions(db, limit === undefined ? {} : { limit })) {
    if (pages.push(page.map(({ id }) => id)) === 1) await between();
  }
  return pages;
}

test('H104: a list with a limit has the executions that were the newest when it began', async () => {
  await submit(1, 2, 3, 4);
  expect(await pagesOf(3, () => submit(5, 6))).toEqual([[2], [3], [4]]);
});

test('H104: a list without a limit has all executions, once each, and an empty one has none', async () => {
  for (const limit of [undefined, 5]) expect(await pagesOf(limit, async () => {})).toEqual([[]]);
  await submit(1, 2, 3);
  expect(await pagesOf(undefined, () => submit(4))).toEqual([[1], [2], [3], [4]]);
});
