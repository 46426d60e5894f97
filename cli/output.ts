/** Prints the output of services. */
import type { Berth } from '../client/berth.ts';
import { LineSplitter } from '../client/lines.ts';
import type { Terminal } from './terminal/terminal.ts';

export interface PrintOptions {
  signal?: AbortSignal | undefined;
  /** Whether each line begins with its time. */
  timestamps?: boolean | undefined;
  /** Only lines that were written since then, in ms since the epoch. */
  sinceMs?: number | undefined;
  /** As those of OutputOptions. */
  follow?: boolean;
  tail?: number | undefined;
  /** Called before anything is printed. */
  begun?: () => void;
}

export interface Source {
  /** Id of the service. */
  id: number;
  name: string;
}

/**
 * Prints the output of one service byte for byte, and that of several ones line by line, each with the name
 * of its service before it. Ends when no more output can come.
 */
export async function printOutput(
  terminal: Terminal,
  berth: Berth,
  executionId: number,
  sources: readonly Source[],
  { signal, timestamps = false, sinceMs, follow = true, tail, begun }: PrintOptions = {},
): Promise<void> {
  const trouble = (message: string) => terminal.say(`${message} Berth tries again.`);
  const ids = sources.map(({ id }) => id);
  const timed = timestamps || sinceMs !== undefined;
  const output = berth.output(executionId, ids, { signal, timestamps: timed, follow, tail, trouble });
  const lines =
    sources.length > 1 || sinceMs !== undefined ? new Lines(sources, timestamps, sinceMs) : undefined;
  for await (const { service, bytes } of output) {
    const printed = lines ? lines.push(service, bytes) : bytes;
    if (printed.byteLength === 0) continue;
    begun?.();
    await terminal.out(printed);
  }
  await terminal.out(lines?.rest() ?? '');
}

const LINE_FEED = Buffer.from('\n');
/** `2026-11-26 12:00:00 `, in UTC. */
const STAMP_BYTES = 20;

/** Puts the output of several services together out of whole lines. */
class Lines {
  readonly #prefixes: ReadonlyMap<number, string>;
  readonly #timestamps: boolean;
  readonly #sinceMs: number | undefined;
  readonly #splitter = new LineSplitter();

  constructor(sources: readonly Source[], timestamps: boolean, sinceMs: number | undefined) {
    const width = Math.max(...sources.map(({ name }) => name.length));
    const prefixOf = (name: string) => (sources.length > 1 ? `${name.padEnd(width)} | ` : '');
    this.#prefixes = new Map(sources.map(({ id, name }) => [id, prefixOf(name)]));
    this.#timestamps = timestamps;
    this.#sinceMs = sinceMs;
  }

  /** The lines that are now whole, as they are printed. */
  push(service: number, bytes: Uint8Array): Buffer {
    const lines = this.#splitter.push(service, bytes);
    return Buffer.concat(lines.map((line) => this.#line(service, Buffer.concat([line, LINE_FEED]))));
  }

  /** The last lines, which have no end. */
  rest(): Buffer {
    return Buffer.concat(
      this.#splitter.rest().map(([service, line]) => this.#line(service, Buffer.from(line))),
    );
  }

  #line(service: number, line: Buffer): Buffer {
    const text = this.#sinceMs === undefined ? line : this.#recent(line, this.#sinceMs);
    if (text.byteLength === 0) return text;
    return Buffer.concat([Buffer.from(this.#prefixes.get(service) ?? ''), text]);
  }

  /** The line, without its time unless that is wanted; nothing if it is older. */
  #recent(line: Buffer, sinceMs: number): Buffer {
    const [day, time] = line.subarray(0, STAMP_BYTES).toString('latin1').split(' ');
    if (Date.parse(`${day}T${time}Z`) < sinceMs) return Buffer.alloc(0);
    return this.#timestamps ? line : line.subarray(STAMP_BYTES);
  }
}
