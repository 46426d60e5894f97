/** Parses the reserve of a host: `memory=512MiB,cores=0.5`, or either part alone. */
import { parseBytes } from '../shared/sizes.ts';

export interface Reserve {
  /** Null: the default share of the machine's memory. */
  memoryBytes: number | null;
  cores: number;
}

/** Room for the system, the engine and the agent: 205 MiB on a machine of 2 GiB. */
const DEFAULT_SHARE = 0.1;
/** Larger machines do not need more for these. */
const MAX_DEFAULT_BYTES = 2 ** 30;

/** Memory that a machine of `totalBytes` withholds from services. */
export const reservedBytes = ({ memoryBytes }: Reserve, totalBytes: number): number =>
  memoryBytes ?? Math.floor(Math.min(totalBytes * DEFAULT_SHARE, MAX_DEFAULT_BYTES));

/** Undefined if the text has another form. Memory is a size as in `parseBytes`. */
export function parseReserve(text: string): Reserve | undefined {
  const reserve: Reserve = { memoryBytes: null, cores: 0 };
  for (const part of text.split(',')) {
    const [, name, amount = ''] = /^\s*(memory|cores)=(\S+)\s*$/.exec(part) ?? [];
    const bytes = parseBytes(amount);
    if (name === 'memory' && bytes !== undefined) reserve.memoryBytes = bytes;
    else if (name === 'cores' && /^\d+(\.\d+)?$/.test(amount)) reserve.cores = Number(amount);
    else return undefined;
  }
  return reserve;
}
