/** Prints the output of services. */
import type { Berth } from '../client/berth.ts';
import { type LinePart, LineSplitter, MAX_LINE_BYTES } from '../client/lines.ts';
import { jsonOf } from './terminal/list.ts';
import { SafeOutput } from './terminal/safe-output.ts';
import { onOneLine } from './terminal/table.ts';
import type { Terminal } from './terminal/terminal.ts';
import { timeOf } from './terminal/time.ts';

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
  /** Whether a terminal gets everything, and not only colours and controls of the line. */
  raw?: boolean | undefined;
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
  options: PrintOptions = {},
): Promise<void> {
  const { signal, timestamps = false, sinceMs, follow = true, tail, begun, json = false, raw } = options;
  const trouble = (message: string) => terminal.say(onOneLine(`${message} Berth tries again.`));
  const ids = sources.map(({ id }) => id);
  const timed = timestamps || json || sinceMs !== undefined;
  const output = berth.output(executionId, ids, { signal, timestamps: timed, follow, tail, trouble });
  const safe = terminal.isTerminal && !raw && !json ? new SafeOutput() : undefined;
  const lines = new Lines(sources, { timestamps, sinceMs, json, safe });
  const areLines = timed || sources.length > 1;
  const printed = areLines
    ? lines.push
    : (service: number, _: number, bytes: Uint8Array) => safe?.pass(service, bytes) ?? bytes;
  try {
    for await (const { service, start, bytes } of output) {
      const data = printed(service, start, bytes);
      if (data.length === 0) continue;
      begun?.();
      await terminal.out(data);
    }
    await terminal.out(lines.rest());
  } finally {
    if (safe) await terminal.out(safe.end());
  }
}

/** An object of `--json` holds more than a part that is printed as text. */
const MAX_JSON_BYTES = 1 << 20;
const LINE_FEED = Buffer.from('\n');
/** `2026-11-26 12:00:00 `, in UTC. */
const STAMP_BYTES = 20;

interface LineForm extends Pick<PrintOptions, 'timestamps' | 'sinceMs' | 'json'> {
  safe: SafeOutput | undefined;
}

/** Puts the output of several services together out of lines. */
class Lines {
  readonly #names: ReadonlyMap<number, string>;
  readonly #width: number;
  readonly #form: LineForm;
  readonly #splitter: LineSplitter;
  /** When the present line of each service was written, in ms since the epoch; NaN if it has no time. */
  readonly #timesMs = new Map<number, number>();
  /** The service whose line has no end on the output yet. */
  #open: number | undefined;

  constructor(sources: readonly Source[], form: LineForm) {
    this.#names = new Map(sources.map(({ id, name }) => [id, name]));
    this.#width = Math.max(...sources.map(({ name }) => name.length));
    this.#form = form;
    this.#splitter = new LineSplitter(form.json ? MAX_JSON_BYTES : MAX_LINE_BYTES);
  }

  /** The parts of lines that are now whole, as they are printed. */
  push = (service: number, start: number, bytes: Uint8Array): Buffer =>
    Buffer.concat(this.#splitter.push(service, start, bytes).flatMap((part) => this.#printed(service, part)));

  /** The last lines, which have no end. */
  rest(): Buffer {
    return Buffer.concat(this.#splitter.rest().flatMap(([service, part]) => this.#printed(service, part)));
  }

  #printed(service: number, part: LinePart): Uint8Array[] {
    const { timestamps, sinceMs, json } = this.#form;
    const isTimed = timestamps || json || sinceMs !== undefined;
    if (isTimed && part.isFirst) this.#timesMs.set(service, timeMsOf(part.bytes));
    const timeMs = this.#timesMs.get(service) ?? Number.NaN;
    if (sinceMs !== undefined && timeMs < sinceMs) return [];
    const hasStamp = part.isFirst && !Number.isNaN(timeMs);
    const text = hasStamp ? part.bytes.subarray(STAMP_BYTES) : part.bytes;
    if (json) return [this.#object(service, timeMs, text, part.end)];
    const stamp = timestamps && hasStamp ? `${timeOf(timeMs / 1_000)} ` : '';
    return this.#text(service, stamp, { ...part, bytes: text });
  }

  #object(service: number, timeMs: number, text: Uint8Array, end: LinePart['end']): Buffer {
    const line = {
      service: this.#names.get(service) ?? '',
      time: timeMs / 1_000,
      text: Buffer.from(text).toString(),
      ...(end === undefined && { partial: true }),
    };
    return Buffer.from(jsonOf(line));
  }

  /** A line that another service's output, or a next start, has interrupted is ended first. */
  #text(service: number, stamp: string, { bytes, isFirst, end }: LinePart): Uint8Array[] {
    const goesOn = this.#open === service && !isFirst;
    const name = this.#names.size > 1 ? `${(this.#names.get(service) ?? '').padEnd(this.#width)} | ` : '';
    const before = `${this.#open !== undefined && !goesOn ? '\n' : ''}${goesOn ? '' : name}${stamp}`;
    this.#open = end === '\n' ? undefined : service;
    const text = this.#form.safe?.pass(service, bytes) ?? bytes;
    return [Buffer.from(before), Buffer.from(text), ...(end === '\n' ? [LINE_FEED] : [])];
  }
}

/** The time at which a line begins, in ms since the epoch; NaN if it begins with none. */
function timeMsOf(line: Uint8Array): number {
  const [, day, time] =
    /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) $/.exec(
      Buffer.from(line.subarray(0, STAMP_BYTES)).toString('latin1'),
    ) ?? [];
  return Date.parse(`${day}T${time}Z`);
}
