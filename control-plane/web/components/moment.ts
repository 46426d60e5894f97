/** Formats moments, on the server and in the browser. Pure. */

/**
 * To the second, with its zone, in a form that `berth logs --since` takes: `2026-11-29 21:14:05 +01:00`.
 * `offsetMin`: of local time from UTC.
 */
export function momentText(ms: number, offsetMin = 0): string {
  const local = new Date(ms + offsetMin * 60_000).toISOString().slice(0, 19).replace('T', ' ');
  return `${local} ${zoneText(offsetMin)}`;
}

function zoneText(offsetMin: number): string {
  if (offsetMin === 0) return 'UTC';
  const minutes = Math.abs(offsetMin);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${offsetMin < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
