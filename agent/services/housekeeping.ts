/**
 * Housekeeping: periodically removes logs beyond their age, whether or not their services are known, and the
 * deployment's networks while the host has none of its containers. Never removes images (CONT-16).
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

/** Runs the first round at once, for agents that never run for long. Returns a function that ends it. */
export function startHousekeeping(options: HousekeepingOptions): () => void {
  const timer = setInterval(() => void housekeep(options), options.everyMs);
  void housekeep(options);
  return () => clearInterval(timer);
}

/** Never throws: a failed removal is tried again in the next round. */
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
