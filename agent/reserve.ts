/**
 * Parses sizes such as `512MiB`, and the reserve of a host: `memory=512MiB,cores=0.5`, or either part alone.
 */

export interface Reserve {
  memoryBytes: number;
  cores: number;
}

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

/** Undefined if the text has another form. Memory is a size as in `parseBytes`. */
export function parseReserve(text: string): Reserve | undefined {
  const reserve: Reserve = { memoryBytes: 0, cores: 0 };
  for (const part of text.split(',')) {
    const [, name, amount = ''] = /^\s*(memory|cores)=(\S+)\s*$/.exec(part) ?? [];
    const bytes = parseBytes(amount);
    if (name === 'memory' && bytes !== undefined) reserve.memoryBytes = bytes;
    else if (name === 'cores' && /^\d+(\.\d+)?$/.test(amount)) reserve.cores = Number(amount);
    else return undefined;
  }
  return reserve;
}
