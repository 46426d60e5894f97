/**
 * Owns what an agent clears away every so often: logs beyond their age, whoever knows of their services, and the
 * deployment's networks while nothing of it is on the host. Images are the administrator's (README.md).
 */
import type { Engine } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';
import type { OutputStore } from '../logs/output-store.ts';

export interface HousekeepingOptions {
  engine: Pick<Engine, 'tidy'>;
  output: Pick<OutputStore, 'expire'>;
  agent: { isKnown(service: number): boolean; readonly isIdle: boolean };
  logDays: number;
  log: Logger;
  nowMs(): number;
  everyMs: number;
}

const DAY_MS = 86_400_000;

/** Begins at once, for an agent that is never up for long; returns what ends it. */
export function startHousekeeping(options: HousekeepingOptions): () => void {
  const timer = setInterval(() => void housekeep(options), options.everyMs);
  void housekeep(options);
  return () => clearInterval(timer);
}

/** Never throws: what is left is tried again the next time. */
export async function housekeep(options: Omit<HousekeepingOptions, 'everyMs'>): Promise<void> {
  const { engine, output, agent, logDays, log, nowMs } = options;
  try {
    await output.expire(nowMs() - logDays * DAY_MS, (service) => agent.isKnown(service));
  } catch (error) {
    log('logs.expiry-failed', { reason: messageOf(error) });
  }
  if (!agent.isIdle) return;
  await engine.tidy().catch((error: unknown) => log('network.removal-failed', { reason: messageOf(error) }));
}
