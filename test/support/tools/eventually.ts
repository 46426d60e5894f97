/** Waits for a condition in tests by polling until a deadline, never by a fixed sleep. */
import { setTimeout as pause } from 'node:timers/promises';

/** The first pauses are short. Longer waits are probed less often, since many probes cost a request each. */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [20, 200];
/** A pause is this part of the time waited so far. */
const PAUSE_SHARE = 0.1;

/** What a rule promises at once is there within this time. Other waits may be longer on a busy machine. */
export const AT_ONCE_MS = 10_000;

/** Calls `probe` until it neither throws nor returns undefined or false. Returns the result. */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  timeoutMs = 60_000,
): Promise<Exclude<T, undefined | false>> {
  const startMs = performance.now();
  for (;;) {
    let failure: unknown = new Error('the condition never came true');
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value as Exclude<T, undefined | false>;
    } catch (error) {
      failure = error;
    }
    const waitedMs = performance.now() - startMs;
    if (waitedMs >= timeoutMs) throw failure;
    await pause(Math.min(Math.max(waitedMs * PAUSE_SHARE, MIN_PAUSE_MS), MAX_PAUSE_MS));
  }
}
