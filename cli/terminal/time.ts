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

/** The local time: `2026-11-25 21:30:00`. */
export function timeOf(timeS: number): string {
  const time = new Date(timeS * 1_000);
  const two = (value: number) => String(value).padStart(2, '0');
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-');
  return `${date} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')}`;
}
