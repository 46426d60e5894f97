/** IPv4 sub-networks: parses them, and chooses a free one from given ranges. Pure. */

export interface Subnet {
  /** The first address, as a number. */
  first: number;
  /** Length of the prefix. */
  bits: number;
}

const sizeOf = ({ bits }: Subnet): number => 2 ** (32 - bits);

/** Undefined if the text is not an IPv4 sub-network, or if its address is not the first one of its prefix. */
export function parseSubnet(text: string): Subnet | undefined {
  const [, address = '', prefix] = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(text) ?? [];
  const octets = address.split('.').map(Number);
  const subnet = { first: octets.reduce((sum, octet) => sum * 256 + octet, 0), bits: Number(prefix) };
  const isValid = subnet.bits <= 32 && octets.length === 4 && octets.every((octet) => octet <= 255);
  return isValid && subnet.first % sizeOf(subnet) === 0 ? subnet : undefined;
}

export function subnetText({ first, bits }: Subnet): string {
  return `${[24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.')}/${bits}`;
}

/** Addresses for containers: without the first (network), the second (gateway) and the last (broadcast). */
export const capacityOf = (bits: number): number => 2 ** (32 - bits) - 3;

/** The first sub-network of that prefix in `ranges` that overlaps none of `taken`, if there is one. */
export function freeSubnet(
  ranges: readonly Subnet[],
  bits: number,
  taken: readonly Subnet[],
): Subnet | undefined {
  const size = 2 ** (32 - bits);
  const sorted = [...taken].sort((a, b) => a.first - b.first);
  for (const range of ranges) {
    let first = range.first;
    for (const one of sorted) {
      const end = one.first + sizeOf(one);
      if (end <= first) continue;
      if (one.first >= first + size) break;
      first = Math.ceil(end / size) * size;
    }
    if (first + size <= range.first + sizeOf(range)) return { first, bits };
  }
  return undefined;
}
