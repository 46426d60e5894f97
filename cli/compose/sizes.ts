/** Sizes as Compose writes them: `512m`, `2gb`, `1.5g`; a unit is a power of 1024. Pure. */

const SIZE = /^(\d{1,15}(?:\.\d{1,6})?) ?([kmgtp]?)(?:i?b)?$/i;
const POWERS = ['', 'k', 'm', 'g', 't', 'p'];

/** In bytes. Only for a text without a problem. */
export function bytesOf(text: string): number {
  const [, amount = '', unit = ''] = SIZE.exec(text) ?? [];
  return Math.round(Number(amount) * 1024 ** POWERS.indexOf(unit.toLowerCase()));
}

export const isSize = (text: string): boolean => Number.isSafeInteger(bytesOf(text)) && SIZE.test(text);
