/** What other clients get while an attack goes on: requests at short intervals, each on a new connection. */
import type { Target } from '../target/target.ts';

const EVERY_MS = 50;
/** Generous, for busy machines: the attacks that it must find stopped the control plane for 20 s and more. */
const MAX_WAIT_MS = 5_000;

export interface Served<T> {
  done: T;
  slowestMs: number;
  /** What others suffered beyond the bounds. */
  problems: string[];
}

/** Carries out `work` while another client reads `info`, at least once and until the work is done. */
export async function whileOthers<T>(target: Target, work: () => Promise<T>): Promise<Served<T>> {
  const problems = new Set<string>();
  let slowestMs = 0;
  let working = true;
  const others = async () => {
    do {
      const { status, ms } = await target.send({ path: 'info' });
      slowestMs = Math.max(slowestMs, ms);
      if (status !== 200) problems.add(`another client got ${status}`);
      await target.pause(EVERY_MS);
    } while (working);
  };
  const end = () => {
    working = false;
  };
  const [done] = await Promise.all([work().finally(end), others()]);
  if (slowestMs > MAX_WAIT_MS) problems.add(`another client waited ${(slowestMs / 1_000).toFixed(1)} s`);
  return { done, slowestMs, problems: [...problems] };
}
