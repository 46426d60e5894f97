/**
 * Converts memory between bytes and the number and unit of a form, on the server and in the browser. Pure.
 */

export const MEMORY_UNITS: Readonly<Record<string, number>> = { MiB: 2 ** 20, GiB: 2 ** 30 };

/** The two fields of an amount, as they were typed. */
export interface MemoryEntry {
  amount: string;
  unit: string;
}

/** In GiB if two decimals express the amount exactly, else in MiB, rounded to three decimals. */
export function memoryEntry(bytes: number): MemoryEntry {
  const gib = bytes / 2 ** 30;
  if ((gib === 0 || gib >= 1) && Number(gib.toFixed(2)) === gib) return { amount: String(gib), unit: 'GiB' };
  return { amount: String(Number((bytes / 2 ** 20).toFixed(3))), unit: 'MiB' };
}

/**
 * The amount in whole bytes, or NaN if the number or the unit can't be read. `shown` is the amount that the
 * form showed, possibly rounded: an untouched entry keeps it to the byte.
 */
export function memoryBytes({ amount, unit }: MemoryEntry, shown?: number): number {
  const factor = Object.hasOwn(MEMORY_UNITS, unit) ? MEMORY_UNITS[unit] : undefined;
  if (factor === undefined) return Number.NaN;
  const untouched = shown === undefined ? undefined : memoryEntry(shown);
  if (shown !== undefined && untouched?.amount === amount.trim() && untouched.unit === unit) return shown;
  return Math.round(decimal(amount) * factor);
}

/** True for a number below zero, which deserves another message than a text. */
export const isNegative = (text: string): boolean => /^\s*[-\u2212]\s*\d/.test(text);

/** A number with a decimal point or comma; NaN for any other text. */
export function decimal(text: string): number {
  const trimmed = text.trim();
  return /^\d+([.,]\d+)?$/.test(trimmed) ? Number(trimmed.replace(',', '.')) : Number.NaN;
}
