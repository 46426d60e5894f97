/** Runs attacks one after the other, each within its time limit, and cleans up after each. */
import { type Attack, type Finding, type Result, Skipped } from './attack.ts';
import type { Target } from './target/target.ts';

const LIMIT_MS = 30_000;

/**
 * Yields the result of each attack. After `stop` no further attack begins, and the current one is aborted.
 * What an attack left behind although it cleaned up is in `left`.
 */
export async function* runAttacks(
  attacks: readonly Attack[],
  target: Target,
  stop: AbortSignal,
  left: string[],
): AsyncGenerator<Result> {
  for (const attack of attacks) {
    if (stop.aborted) return;
    const { limitMs = LIMIT_MS, run: _, ...facts } = attack;
    const startMs = performance.now();
    target.signal = AbortSignal.any([stop, AbortSignal.timeout(limitMs)]);
    const finding = await findingOf(attack, target, limitMs);
    left.push(...(await target.ofAttack.run()));
    yield { ...facts, ...finding, ms: performance.now() - startMs };
  }
}

/** An attack that can't be carried out is skipped, with the reason. */
async function findingOf(attack: Attack, target: Target, limitMs: number): Promise<Finding> {
  const { signal } = target;
  const aborted = new Promise<never>((_, fail) => {
    signal.addEventListener('abort', () => fail(signal.reason), { once: true });
  });
  try {
    return await Promise.race([attack.run(target), aborted]);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Skipped) return { verdict: 'skipped', happened: message };
    if (signal.aborted)
      return { verdict: 'skipped', happened: `did not end within ${limitMs / 1_000} s, or was interrupted` };
    return { verdict: 'skipped', happened: `could not be carried out: ${message}` };
  }
}
