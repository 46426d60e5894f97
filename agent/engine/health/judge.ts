/** Judges the health of a container by what its checks find, one after the other. Pure. */
import type { Health, HealthCheck } from '../../../shared/protocol/health.ts';

/** What one check has found. `unknown`: it could not be made, which tells nothing about the container. */
export interface Finding {
  result: 'passed' | 'failed' | 'unknown';
  /** For people. */
  detail: string;
}

export interface Judgement {
  health: Health;
  /** Failures that count, one after the other. */
  failures: number;
  /** Whether any check has succeeded: from then on the start period is over. */
  hasPassed: boolean;
}

export const unjudged: Judgement = {
  health: { state: 'starting', detail: '' },
  failures: 0,
  hasPassed: false,
};

/** The judgement after one more finding, `ageMs` after the start of the container. */
export function judge(
  { health, failures, hasPassed }: Judgement,
  { result, detail }: Finding,
  { retries, startPeriodMs }: HealthCheck,
  ageMs: number,
): Judgement {
  if (result === 'unknown') return { health, failures, hasPassed };
  if (result === 'passed') return { health: { state: 'healthy', detail }, failures: 0, hasPassed: true };
  if (!hasPassed && ageMs < startPeriodMs) return { health: { ...health, detail }, failures: 0, hasPassed };
  const state = failures + 1 >= retries ? 'unhealthy' : health.state;
  // While it is healthy, what a failed check has found is not reported until enough have failed.
  const shown = state === 'healthy' ? health : { state, detail };
  return { health: shown, failures: failures + 1, hasPassed };
}

/** A container that starts is checked more often: every second, or every 5 s by a command. */
const QUICK_MS = { http: 1_000, tcp: 1_000, command: 5_000, image: 5_000 };

/** The pause before the next check. */
export function pauseMs({ hasPassed }: Judgement, check: HealthCheck, ageMs: number): number {
  const isStarting = !hasPassed && ageMs < check.startPeriodMs;
  return isStarting ? Math.min(check.intervalMs, QUICK_MS[check.kind]) : check.intervalMs;
}
