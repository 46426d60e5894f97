/** The network of a client's address: clients are limited by it, and not by single addresses. Pure. */

/**
 * An IPv4 address as it is, also one that is written as an IPv6 address; the first 64 bits of any other IPv6
 * address, because one customer usually has all addresses in them.
 */
export function networkOf(address: string): string {
  const text = address.replace(/^(?:::|(?:0+:){5})ffff:(?=\d+\.)/i, '');
  if (!text.includes(':')) return text;
  const groups = groupsOf(text);
  const mapped = groups.length === 8 && groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff';
  return mapped ? dotted(groups.slice(6)) : groups.slice(0, 4).join(':');
}

/** The /24 of an IPv4 address, or the /64 of an IPv6 address: what usually belongs to one attacker. */
export const subnetOf = (address: string): string =>
  networkOf(address).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24');

/** The groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.split('::', 2).map((part) => part.split(':').filter(Boolean));
  const zeros = tail ? Math.max(0, 8 - head.length - tail.length) : 0;
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])];
  return groups.map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''));
}

/** Two groups of hexadecimal digits as an IPv4 address. */
const dotted = (groups: readonly string[]): string =>
  groups
    .map((group) => Number.parseInt(group, 16))
    .flatMap((bits) => [bits >> 8, bits & 0xff])
    .join('.');
