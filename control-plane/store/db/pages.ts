/** Splits long results into pages: a libSQL server refuses a response above 10 MB. */
import type { Argument, Db, Row } from './db.ts';

const PAGE_BYTES = 1024 * 1024;
const PAGE_ROWS = 1_000;

/**
 * Ids of executions that match `where`, ascending, in pages whose descriptions amount to at most about 1 MiB.
 * `where` must be constant SQL, never input.
 */
export const pagedIds = async (db: Db, where: string, args: readonly Argument[]): Promise<number[][]> =>
  pagesOf(
    await db.query(
      `SELECT id, octet_length(description) AS bytes FROM executions WHERE ${where} ORDER BY id`,
      args,
    ),
  );

/**
 * `WITH` clause of two tables: `page (id)` is the first page of `pagedIds`, and `rest (more)` is 1 if there
 * are others.
 */
export const firstPage = (where: string): string =>
  pageOf(
    `${where} ORDER BY id LIMIT ${PAGE_ROWS + 1}`,
    'SELECT EXISTS (SELECT 1 FROM candidate WHERE id > (SELECT max(id) FROM page)) AS more',
  );

/** The same, but `rest (more)` is what `pagesOf` takes for the other pages, as JSON. */
export const firstPageOfAll = (where: string): string =>
  pageOf(
    `${where} ORDER BY id`,
    `SELECT json_group_array(json_object('id', id, 'bytes', bytes)) AS more FROM candidate
      WHERE id > (SELECT max(id) FROM page)`,
  );

const pageOf = (candidates: string, rest: string): string => `WITH
  candidate AS MATERIALIZED (SELECT id, octet_length(description) AS bytes FROM executions WHERE ${candidates}),
  summed AS (SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS total
    FROM (SELECT * FROM candidate ORDER BY id LIMIT ${PAGE_ROWS})),
  page AS MATERIALIZED (SELECT id FROM summed
    WHERE total <= ${PAGE_BYTES} OR total = bytes),
  rest AS MATERIALIZED (${rest})`;

/** Splits rows with `id` and `bytes` into pages of at most about 1 MiB. */
export function pagesOf(rows: readonly Row[]): number[][] {
  const pages: number[][] = [];
  let freeBytes = 0;
  for (const row of rows) {
    const bytes = Number(row.bytes);
    const page = pages.at(-1);
    if (!page || bytes > freeBytes || page.length >= PAGE_ROWS) {
      pages.push([Number(row.id)]);
      freeBytes = PAGE_BYTES - bytes;
    } else {
      page.push(Number(row.id));
      freeBytes -= bytes;
    }
  }
  return pages;
}
