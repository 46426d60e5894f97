/** Durations on the command line: a number of seconds, or of the unit s, m, h or d. */

const DURATION = /^(\d{1,10})(s|m|h|d)?$/;
export const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
type Unit = keyof typeof SECONDS;

/** Seconds; undefined if the text has another form. */
export function readDuration(text: string): number | undefined {
  const [, count, unit = 's'] = DURATION.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * SECONDS[unit as Unit];
}

/** Seconds. Throws for any other text. */
export function durationOf(text: string): number {
  const seconds = readDuration(text);
  if (seconds !== undefined) return seconds;
  throw new Error(`${text} is not a time; give seconds, or a number with a unit such as 90m, 2h or 1d.`);
}

/** In the largest unit of which it is a multiple, such as `90m`. */
export function durationText(seconds: number): string {
  const unit = (['d', 'h', 'm'] as const).find((one) => seconds % SECONDS[one] === 0) ?? 's';
  return `${seconds / SECONDS[unit]}${unit}`;
}
