/** Lists as every command prints them: a table for people, one array for programs, or the ids alone. */
import { table } from './table.ts';
import type { Terminal } from './terminal.ts';

/** The options `--json` and `-q`. */
export interface Form {
  json?: boolean;
  quiet?: boolean;
}

export function printList<Item extends { id: number | string }>(
  terminal: Terminal,
  { json, quiet }: Form,
  items: readonly Item[],
  heads: readonly string[],
  rowOf: (item: Item) => string[],
): Promise<void> {
  if (json) return terminal.out(`${JSON.stringify(items)}\n`);
  if (quiet) return terminal.out(items.map(({ id }) => `${id}\n`).join(''));
  return terminal.out(table(heads, items.map(rowOf), terminal.columns));
}
