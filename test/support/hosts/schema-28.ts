/** A database of schema 28, the last before the baseline, with a row in each table. */
import { readFile } from 'node:fs/promises';
import type { Db } from '../../../control-plane/store/db/db.ts';

const FIXTURE = new URL('../fixtures/schema-28.sql', import.meta.url);

/** Fills an empty database. */
export async function fillAsSchema28(db: Db): Promise<void> {
  const lines = (await readFile(FIXTURE, 'utf8')).split('\n');
  const statements = lines.filter((line) => line !== '' && !line.startsWith('--'));
  await db.batch(statements.map((sql) => ({ sql, args: [] })));
}
