/** Times for people. Pure. */

const UNITS: readonly [seconds: number, unit: string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
];

/** How long ago a time was: `5m`. `timeS`: seconds since the epoch. */
export function ageOf(timeS: number, nowMs: number): string {
  const ageS = Math.max(0, Math.floor(nowMs / 1_000 - timeS));
  const [seconds, unit] = UNITS.find(([least]) => ageS >= least) ?? [1, 's'];
  return `${Math.floor(ageS / seconds)}${unit} ago`;
}

/**
 * The local time with its zone, as `--since` and `--until` take it: `2026-11-25T21:30:00+01:00`, or with `Z`
 * in UTC.
 */
export function timeOf(timeS: number): string {
  const time = new Date(timeS * 1_000);
  const offsetMin = -time.getTimezoneOffset();
  const local = new Date(time.getTime() + offsetMin * 60_000).toISOString().slice(0, 19);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const size = Math.abs(offsetMin);
  return `${local}${offsetMin === 0 ? 'Z' : `${offsetMin < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`}`;
}
