/** Owns how bytes read in the browser; as `bytes` of web/parts.ts, which makes the page. */

/** In binary units: `512 MiB`. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const at = count < 1 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1);
  return `${Number((count / 2 ** (10 * at)).toPrecision(3))} ${units[at]}`;
}
