/** What other clients get while an attack goes on: requests at short intervals, each on a new connection. */
import { type Finding, judge } from '../attack.ts';
import type { Target } from '../target/target.ts';

const EVERY_MS = 50;
/** Generous, for busy machines: the attacks that it must find stopped the control plane for 20 s and more. */
const MAX_WAIT_MS = 5_000;
/** Requests before the attack, and how many times as long as the slowest of them others may wait besides. */
const [CALM_REQUESTS, CALM_SHARE] = [5, 10];

export interface Served<T> {
  done: T;
  slowestMs: number;
  /** What others suffered beyond the bounds. */
  problems: string[];
}

/**
 * Carries out `work` while another client reads `info`, at least once and until the work is done. What the
 * machine lets requests wait without an attack is not the attack's doing.
 */
export async function whileOthers<T>(target: Target, work: () => Promise<T>): Promise<Served<T>> {
  const problems = new Set<string>();
  let calmMs = 0;
  for (let nth = 0; nth < CALM_REQUESTS; nth++)
    calmMs = Math.max(calmMs, (await target.send({ path: 'info' })).ms);
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
  if (slowestMs > MAX_WAIT_MS + CALM_SHARE * calmMs)
    problems.add(`another client waited ${seconds(slowestMs)}, and ${seconds(calmMs)} before the attack`);
  return { done, slowestMs, problems: [...problems] };
}

/** Carries out `work`, which is an attack on others alone. */
export async function judgeOthers(target: Target, work: () => Promise<unknown>): Promise<Finding> {
  const { slowestMs, problems } = await whileOthers(target, work);
  return judge(problems, `others were served, and waited at most ${slowestMs.toFixed(0)} ms`);
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
