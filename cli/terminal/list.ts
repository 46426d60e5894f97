/** Lists as every command prints them: a table for people, one array for programs, or the ids alone. */
import type { Command } from 'commander';
import { table } from './table.ts';
import type { Terminal } from './terminal.ts';

/** The options `--json` and `-q`. */
export interface Form {
  json?: boolean;
  quiet?: boolean;
}

const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Bidi_Control}]/gu;

/** A line of JSON, in which nothing acts on a terminal. */
export const jsonOf = (value: unknown, indent?: number): string => {
  const text = JSON.stringify(value, undefined, indent);
  return `${text.replace(UNSAFE_IN_JSON, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
};

/** For a command that changes things, which has nothing to list but what it has changed. */
export const addForm = (command: Command): Command =>
  command.option('--json', 'print what was changed as JSON').option('-q, --quiet', 'print ids only');

/** What a command has changed, whose words for people are `text`. */
export function printChange(
  terminal: Terminal,
  { json, quiet }: Form,
  id: number,
  { changed, text }: { changed: object; text: string },
): Promise<void> {
  if (json) return terminal.out(jsonOf(changed));
  return terminal.out(quiet ? `${id}\n` : text);
}

export function printList<Item extends { id: number | string }>(
  terminal: Terminal,
  { json, quiet }: Form,
  items: readonly Item[],
  heads: readonly string[],
  rowOf: (item: Item) => string[],
): Promise<void> {
  if (json) return terminal.out(jsonOf(items));
  if (quiet) return terminal.out(items.map(({ id }) => `${id}\n`).join(''));
  return terminal.out(table(heads, items.map(rowOf), terminal.columns));
}
