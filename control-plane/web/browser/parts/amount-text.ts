/** Texts of amounts in the browser, equal to those of the server (core/model/text.ts). */

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** E.g. `2.0 GiB`, with one decimal. */
export function memoryText(bytes: number): string {
  if (bytes < 1024) return count(bytes, 'byte');
  let amount = bytes / 1024;
  let unit = 0;
  for (; amount >= 1023.95 && unit < UNITS.length - 1; unit++) amount /= 1024;
  return `${amount.toFixed(1)} ${UNITS[unit]}`;
}

/** E.g. `0.25 cores`, with four significant digits. */
export const coresText = (cores: number): string => count(Number(cores.toPrecision(4)), 'core');

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
