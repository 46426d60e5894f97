/** Amounts, counts and lists as text in sentences for people. Pure. */

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** For example `2.0 GiB`: one decimal in a fitting unit. */
export function memoryText(bytes: number): string {
  if (bytes < 1024) return count(bytes, 'byte');
  let amount = bytes / 1024;
  let unit = 0;
  for (; amount >= 1023.95 && unit < UNITS.length - 1; unit++) amount /= 1024;
  return `${amount.toFixed(1)} ${UNITS[unit]}`;
}

/** For example `0.25 cores`: at most 4 significant digits. */
export const coresText = (cores: number): string => count(Number(cores.toPrecision(4)), 'core');

/** For example `1 host`, `2 hosts`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

const PERIODS: readonly [ms: number, noun: string][] = [
  [3_600_000, 'hour'],
  [60_000, 'minute'],
];

/** For example `10 minutes`, `90 seconds`: whole seconds, in the largest unit of which it is a multiple. */
export function periodText(ms: number): string {
  const [unitMs, noun] = PERIODS.find(([unit]) => ms > 0 && ms % unit === 0) ?? [1_000, 'second'];
  return count(Math.round(ms / unitMs), noun);
}

/** For example `web0, web1, web2 and 7 more`, with at most `limit` names. */
export function listText(names: readonly string[], limit = 3): string {
  const rest = names.length - limit;
  const listed = rest > 0 ? [...names.slice(0, limit), `${rest} more`] : names;
  return listed.length < 2 ? listed.join('') : `${listed.slice(0, -1).join(', ')} and ${listed.at(-1)}`;
}

/** The beginning of a text. If it is cut, it ends at a word, as far as one ends near, with an ellipsis. */
export function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const cut = text
    .slice(0, maxLength - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '');
  return `${/^(.*\S)\s\S{0,39}$/s.exec(cut)?.[1] ?? cut.trimEnd()}…`;
}
