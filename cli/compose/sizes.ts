/**
 * Sizes as Compose writes them, `512m`, `2gb`, `1.5g`, where a unit is a power of 1024, and its periods, such
 * as `1m30s`. Pure.
 */

const SIZE = /^(\d{1,15}(?:\.\d{1,6})?) ?([kmgtp]?)(?:i?b)?$/i;
const POWERS = ['', 'k', 'm', 'g', 't', 'p'];

/** In bytes. Only for a text without a problem. */
export function bytesOf(text: string): number {
  const [, amount = '', unit = ''] = SIZE.exec(text) ?? [];
  return Math.round(Number(amount) * 1024 ** POWERS.indexOf(unit.toLowerCase()));
}

export const isSize = (text: string): boolean => Number.isSafeInteger(bytesOf(text)) && SIZE.test(text);

const PERIOD = /^(?:0|(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s|us|ns))+)$/;
const PART = /(\d+(?:\.\d+)?)(h|ms|m|s|us|ns)/g;
const SECONDS: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 };

export const isPeriod = (text: string): boolean => text.length <= 100 && PERIOD.test(text);

/** In seconds. Only for a text without a problem. */
export const secondsOf = (text: string): number =>
  [...text.matchAll(PART)].reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (SECONDS[unit] ?? 0),
    0,
  );
