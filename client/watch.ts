/** Follows what happens to an execution. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ExplanationJson } from '../control-plane/http/json/schemas.ts';
import { BerthError, isPassing } from './transport.ts';

export interface WatchOptions {
  signal?: AbortSignal | undefined;
  /** Called when the control plane can't be reached for now. */
  trouble?: (message: string) => void;
}

const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;

/** Yields each explanation that differs from the one before it. The last one is that of the end. */
export async function* watch(
  explain: () => Promise<ExplanationJson>,
  { signal, trouble }: WatchOptions,
): AsyncGenerator<ExplanationJson> {
  let last: ExplanationJson | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 1.5)) {
    try {
      const explanation = await explain();
      // Times in its sentences may change all the while.
      if (explanation.status !== last?.status) pauseMs = FIRST_PAUSE_MS;
      const isNew = JSON.stringify(explanation) !== JSON.stringify(last);
      last = explanation;
      if (isNew) yield explanation;
      if (hasEnded(explanation)) return;
    } catch (error) {
      if (!(error instanceof BerthError) || !isPassing(error)) throw error;
      trouble?.(error.message);
    }
    await pause(pauseMs, undefined, { signal });
  }
}

const hasEnded = ({ status }: ExplanationJson): boolean => status === 'terminated' || status === 'error';
