/** Sizes in settings and in sentences for people, such as `512MiB` and `1.5 GiB`. Pure. */

const UNIT_BYTES: Record<string, number> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/**
 * Parses a number of bytes, or a number with the unit KiB, MiB, GiB or TiB. Undefined if the text has another
 * form.
 */
export function parseBytes(text: string): number | undefined {
  const [, digits, unit = ''] = /^\s*(\d+(?:\.\d+)?)([A-Za-z]*)\s*$/.exec(text) ?? [];
  const unitBytes = digits === undefined ? undefined : UNIT_BYTES[unit];
  return unitBytes === undefined ? undefined : Math.round(Number(digits) * unitBytes);
}

/** For example `1.5 GiB`: one decimal in a fitting unit. */
export function sizeText(bytes: number): string {
  const [unit, unitBytes] = Object.entries(UNIT_BYTES).findLast(([, one]) => bytes >= one) ?? ['', 1];
  return unit === '' ? `${bytes} bytes` : `${(bytes / unitBytes).toFixed(1)} ${unit}`;
}
