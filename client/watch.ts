/** Follows what happens to an execution. */
import type { Explanation } from './api-types.ts';
import { BerthError, isPassing } from './call.ts';
import { type FollowOptions, pause } from './follow-options.ts';

const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;

const longer = (pauseMs: number): number => Math.min(LAST_PAUSE_MS, pauseMs * 1.5);

/** Yields each explanation that differs from the one before it. The last one is that of the end. */
export async function* watch(
  explain: () => Promise<Explanation>,
  options: FollowOptions,
): AsyncGenerator<Explanation> {
  let last: Explanation | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = longer(pauseMs)) {
    const explanation = await answerOf(explain, options);
    // Times in its sentences may change all the while.
    if (explanation.status !== last?.status) pauseMs = FIRST_PAUSE_MS;
    const isNew = JSON.stringify(explanation) !== JSON.stringify(last);
    last = explanation;
    if (isNew) yield explanation;
    if (hasEnded(explanation)) return;
    await pause(pauseMs, options.signal);
  }
}

const hasEnded = ({ status }: Explanation): boolean => status === 'terminated' || status === 'error';

/** Repeats a call until it is answered. Throws if Berth refuses it. */
export async function answerOf<T>(call: () => Promise<T>, { signal, trouble }: FollowOptions): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = longer(pauseMs)) {
    try {
      return await call();
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof BerthError) || !isPassing(error)) throw error;
      trouble?.(error.message);
    }
    await pause(pauseMs, signal);
  }
}
