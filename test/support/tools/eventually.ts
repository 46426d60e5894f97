/** Waits for a condition in tests by polling until a deadline, never by a fixed sleep. */
import { setTimeout as pause } from 'node:timers/promises';

/** Calls `probe` every 20 ms until it neither throws nor returns undefined or false. Returns the result. */
export async function eventually<T>(probe: () => T | Promise<T>, timeoutMs = 10_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown = new Error('the condition never came true');
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      failure = error;
    }
    if (performance.now() >= deadline) throw failure;
    await pause(20);
  }
}
