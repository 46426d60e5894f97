/** Owns the text form of what a host keeps for itself: `memory=512MiB,cores=0.5`, either part alone as well. */

export interface Reserve {
  memoryBytes: number;
  cores: number;
}

const UNIT_BYTES: Record<string, number> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/** Undefined where the text is not of that form. Memory is in bytes, or with KiB, MiB, GiB or TiB. */
export function parseReserve(text: string): Reserve | undefined {
  const reserve: Reserve = { memoryBytes: 0, cores: 0 };
  for (const part of text.split(',')) {
    const [, name, digits, unit = ''] = /^\s*(memory|cores)=(\d+(?:\.\d+)?)([A-Za-z]*)\s*$/.exec(part) ?? [];
    const unitBytes = UNIT_BYTES[unit];
    if (name === 'memory' && unitBytes !== undefined)
      reserve.memoryBytes = Math.round(Number(digits) * unitBytes);
    else if (name === 'cores' && unit === '') reserve.cores = Number(digits);
    else return undefined;
  }
  return reserve;
}
