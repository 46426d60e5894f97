/**
 * Reads the output of services of an execution (SPEC H432). When the stream breaks, another one continues
 * from the position of each service, so that nothing is missed or repeated.
 */
import {
  decodeFrame,
  FrameSplitter,
  LOG_START,
  type LogPosition,
  noteOf,
} from '../shared/streams/log-frames.ts';
import { BerthError, isPassing } from './call.ts';
import { type FollowOptions, pause } from './follow-options.ts';

export interface Output {
  /** Id of the service. */
  service: number;
  /** Which start of the service has written it, from 1. */
  start: number;
  bytes: Uint8Array;
}

export interface OutputOptions extends FollowOptions {
  /**
   * Whether each line begins with its time, such as `2026-11-26 12:00:00 `, in UTC. Then the last line of a
   * start ends, too, before the next start begins. Default: false.
   */
  timestamps?: boolean | undefined;
  /** Whether further output is waited for. Without it, what can't be read is an error. Default: true. */
  follow?: boolean | undefined;
  /** Only so many last lines of each service's last start; 10,000 at most. */
  tail?: number | undefined;
}

/** Services in one stream at most (SPEC H432). */
export const MAX_SERVICES = 16;

/** Opens the stream. `from`: the position of each service, as the API takes it. */
type Open = (from: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;

const LINE_END = new TextEncoder().encode('\n');
/** Three times as long as a healthy stream is silent at most. */
const SILENCE_MS = 45_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;

export async function* readOutput(
  open: Open,
  services: readonly number[],
  { signal, trouble, timestamps = false, follow = true }: OutputOptions,
): AsyncGenerator<Output> {
  /** The positions of services whose output has not ended. */
  const positions = new Map<number, LogPosition>(services.map((id) => [id, LOG_START]));
  /** The starts whose last line has no line feed so far, by service. */
  const unfinished = new Map<number, number>();
  for (let retryMs = FIRST_RETRY_MS; positions.size > 0; retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)) {
    let problem = 'The stream of the output was interrupted.';
    try {
      for await (const frame of framesOf(open, positions, signal)) {
        const { service, position, payload: bytes } = frame;
        const note = noteOf(frame);
        if (!note && positions.has(service)) {
          positions.set(service, position);
          retryMs = FIRST_RETRY_MS;
          const { generation: start } = position;
          const before = unfinished.get(service);
          if (timestamps && before !== undefined && before !== start)
            yield { service, start: before, bytes: LINE_END };
          if (bytes.at(-1) === LINE_END[0]) unfinished.delete(service);
          else if (bytes.byteLength > 0) unfinished.set(service, start);
          yield { service, start, bytes };
        }
        if (note && 'ended' in note) positions.delete(service);
        if (note && 'missing' in note) positions.set(service, { generation: note.missing + 1, offset: 0 });
        if (note && 'trouble' in note) {
          if (!follow) throw new Error(note.trouble);
          problem = note.trouble;
        }
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isPassing(error)) throw error;
      if (error instanceof BerthError) problem = error.message;
    }
    if (positions.size === 0) return;
    trouble?.(problem);
    await pause(retryMs * (0.75 + Math.random() / 2), signal);
  }
}

async function* framesOf(open: Open, positions: ReadonlyMap<number, LogPosition>, signal?: AbortSignal) {
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(), SILENCE_MS);
  const from = [...positions].map(([id, { generation, offset }]) => `${id}.${generation}.${offset}`);
  const splitter = new FrameSplitter();
  try {
    const pieces = await open(from.join(','), AbortSignal.any([silent.signal, ...(signal ? [signal] : [])]));
    for await (const piece of pieces) {
      yield* splitter.push(piece).map(decodeFrame);
      // The time that a slow reader takes does not count.
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
  }
}
