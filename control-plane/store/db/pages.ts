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
