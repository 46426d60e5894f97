/** Follows the events of the control plane (SPEC H290), and goes on after a broken connection. */
import { BerthError, isPassing } from './call.ts';
import { type FollowOptions, pause } from './follow-options.ts';

/** What an object is after a change. */
export type Change =
  | { event: 'execution'; id: number; name: string; user_id: number; status: string }
  | {
      event: 'service';
      id: number;
      execution_id: number;
      name: string;
      status: string;
      backend_status: string;
      progress?: string;
    }
  | { event: 'host'; id: number; name: string; state: string };

/** `hello`: from there on nothing is missed. `reset`: something was missed. */
export type BerthEvent = Change | { event: 'hello' } | { event: 'reset' };

/** Opens the stream after the event of this id, or at this moment. */
type Open = (lastEventId: string | undefined, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;

/** Three times as long as a healthy stream is silent at most. */
const SILENCE_MS = 45_000;
const LAST_RETRY_MS = 15_000;

/** What a stream has said, as far as another one needs it. */
interface Progress {
  lastEventId: string | undefined;
  retryMs: number;
  /** In a row, without a word from a stream. */
  retries: number;
}

export async function* readEvents(
  open: Open,
  { signal, trouble }: FollowOptions,
): AsyncGenerator<BerthEvent> {
  const progress: Progress = { lastEventId: undefined, retryMs: 1_000, retries: 0 };
  for (; ; progress.retries += 1) {
    try {
      yield* eventsOf(open, progress, signal);
    } catch (error) {
      signal?.throwIfAborted();
      // Nobody has begun to follow yet: then the cause is the answer.
      if (progress.lastEventId === undefined || !isPassing(error)) throw error;
      trouble?.(error instanceof BerthError ? error.message : 'The stream of events was interrupted.');
    }
    await pause(Math.min(LAST_RETRY_MS, progress.retryMs * 2 ** progress.retries), signal);
  }
}

async function* eventsOf(
  open: Open,
  progress: Progress,
  signal: AbortSignal | undefined,
): AsyncGenerator<BerthEvent> {
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(), SILENCE_MS);
  try {
    const signals = [silent.signal, ...(signal ? [signal] : [])];
    const parts = await open(progress.lastEventId, AbortSignal.any(signals));
    // A part that breaks off counts for nothing: the next stream repeats it.
    let rest = '';
    const decoder = new TextDecoder();
    for await (const part of parts) {
      progress.retries = 0;
      const blocks = (rest + decoder.decode(part, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = eventIn(block, progress);
        if (event) yield event;
      }
      // The time that a slow reader takes does not count.
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Notes in `progress` what the block says about the stream. */
function eventIn(block: string, progress: Progress): BerthEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => cut(line)));
  progress.lastEventId = fields.get('id') ?? progress.lastEventId;
  progress.retryMs = Number(fields.get('retry') ?? progress.retryMs);
  const data = fields.get('data');
  return data === undefined ? undefined : { event: fields.get('event'), ...JSON.parse(data) };
}

/** A line of server-sent events. A comment has an empty name. */
function cut(line: string): [name: string, value: string] {
  const [name = '', ...value] = line.split(':');
  return [name, value.join(':').replace(/^ /, '')];
}
