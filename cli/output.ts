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
  /** Whether each line is a JSON object with `service`, `time` (seconds since the epoch) and `text`. */
  json?: boolean | undefined;
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
 * of its service before it, or as JSON. Ends when no more output can come.
 */
export async function printOutput(
  terminal: Terminal,
  berth: Berth,
  executionId: number,
  sources: readonly Source[],
  { signal, timestamps = false, sinceMs, follow = true, tail, begun, json = false }: PrintOptions = {},
): Promise<void> {
  const trouble = (message: string) => terminal.say(`${message} Berth tries again.`);
  const ids = sources.map(({ id }) => id);
  const timed = timestamps || json || sinceMs !== undefined;
  const output = berth.output(executionId, ids, { signal, timestamps: timed, follow, tail, trouble });
  const areLines = json || sources.length > 1 || sinceMs !== undefined;
  const lines = areLines ? new Lines(sources, { timestamps, sinceMs, json }) : undefined;
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

type LineForm = Pick<PrintOptions, 'timestamps' | 'sinceMs' | 'json'>;

/** Puts the output of several services together out of whole lines. */
class Lines {
  readonly #names: ReadonlyMap<number, string>;
  readonly #width: number;
  readonly #form: LineForm;
  readonly #splitter = new LineSplitter();

  constructor(sources: readonly Source[], form: LineForm) {
    this.#names = new Map(sources.map(({ id, name }) => [id, name]));
    this.#width = Math.max(...sources.map(({ name }) => name.length));
    this.#form = form;
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
    const { timestamps, sinceMs, json } = this.#form;
    const name = this.#names.get(service) ?? '';
    const timed = json || sinceMs !== undefined;
    const timeMs = timed ? timeMsOf(line) : 0;
    if (sinceMs !== undefined && timeMs < sinceMs) return Buffer.alloc(0);
    const text = timed && !(timestamps && !json) ? line.subarray(STAMP_BYTES) : line;
    if (json)
      return Buffer.from(
        `${JSON.stringify({ service: name, time: timeMs / 1_000, text: text.toString().replace(/\n$/, '') })}\n`,
      );
    if (this.#names.size < 2) return text;
    return Buffer.concat([Buffer.from(`${name.padEnd(this.#width)} | `), text]);
  }
}

/** The time at which a line begins, in ms since the epoch. */
function timeMsOf(line: Buffer): number {
  const [day, time] = line.subarray(0, STAMP_BYTES).toString('latin1').split(' ');
  return Date.parse(`${day}T${time}Z`);
}
