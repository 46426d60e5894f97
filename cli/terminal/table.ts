/** Tables for people: columns by their widest cell, and no wider than the terminal. Pure. */

const GAP = 2;
/** No column is narrower, unless its cells are. */
const LEAST = 8;

/**
 * The rows as lines, below their heads. Where a line would be longer than `columns`, columns without any text
 * are left out, and then cells are cut.
 */
export function table(heads: readonly string[], rows: readonly string[][], columns?: number): string {
  const text = tableOf(heads, rows, columns);
  const isUsed = heads.map((_, at) => rows.length === 0 || rows.some((row) => row[at] !== ''));
  if (columns === undefined || text === tableOf(heads, rows) || isUsed.every(Boolean)) return text;
  const used = (row: readonly string[]) => row.filter((_, at) => isUsed[at]);
  return tableOf(used(heads), rows.map(used), columns);
}

function tableOf(heads: readonly string[], rows: readonly string[][], columns?: number): string {
  const all = [[...heads], ...rows].map((row) => row.map(onOneLine));
  const wanted = heads.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  const widths = columns === undefined ? wanted : fitted(wanted, columns - GAP * (heads.length - 1));
  const lineOf = (row: string[]) =>
    row.map((cell, at) => cut(cell, widths[at] ?? 0).padEnd((widths[at] ?? 0) + GAP)).join('');
  return `${all.map((row) => lineOf(row).trimEnd()).join('\n')}\n`;
}

/** One thing in detail: a line for each of its features. */
export const details = (features: readonly (readonly [name: string, text: string])[]): string =>
  features.map(([name, text]) => `${`${name.padEnd(11)}${onOneLine(text)}`.trimEnd()}\n`).join('');

/** The widths with the widest ones reduced until their sum is `room`. */
function fitted(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  for (let over = widths.reduce((sum, width) => sum + width, 0) - room; over > 0; over--) {
    const widest = widths.lastIndexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= LEAST) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** The text in at most so many columns. */
export const cut = (cell: string, width: number): string =>
  cell.length > width ? `${cell.slice(0, width - 1)}…` : cell;

/** Names and messages come from other users: nothing in them may act on the terminal. */
export const onOneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ');
