/**
 * Housekeeping: periodically removes logs beyond their age, whether or not their services are known, and
 * networks and images that nothing uses.
 */
import type { Engine } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';
import type { OutputStore } from '../logs/output-store.ts';

export interface HousekeepingOptions {
  engine: Pick<Engine, 'removeUnused'>;
  output: Pick<OutputStore, 'expire'>;
  agent: { isKnown(service: number): boolean };
  images: { round(): Promise<void> };
  logDays: number;
  log: Logger;
  nowMs(): number;
  logsEveryMs: number;
  networksEveryMs: number;
  imagesEveryMs: number;
}

const DAY_MS = 86_400_000;
/** An unused network stays for its user's next service. */
const NETWORK_GRACE_MS = 60_000;

/** Runs the first rounds at once, for agents that never run for long. Returns a function that ends them. */
export function startHousekeeping(options: HousekeepingOptions): () => void {
  const removeNetworks = networkRemoval(options);
  const timers = [
    setInterval(() => void expireLogs(options), options.logsEveryMs),
    setInterval(() => void removeNetworks(), options.networksEveryMs),
    setInterval(() => void options.images.round(), options.imagesEveryMs),
  ];
  void expireLogs(options);
  void removeNetworks();
  return () => timers.forEach(clearInterval);
}

type LogOptions = Pick<HousekeepingOptions, 'output' | 'agent' | 'logDays' | 'log' | 'nowMs'>;

/** Never throws: a failed removal is tried again in the next round. */
export async function expireLogs({ output, agent, logDays, log, nowMs }: LogOptions): Promise<void> {
  try {
    await output.expire(nowMs() - logDays * DAY_MS, (service) => agent.isKnown(service));
  } catch (error) {
    log('logs.expiry-failed', { reason: messageOf(error) });
  }
}

/** Returns one round, which never throws. One round runs at a time; a repeated failure is logged once. */
function networkRemoval({ engine, log }: HousekeepingOptions): () => Promise<void> {
  let isRunning = false;
  let failure = '';
  return async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await engine.removeUnused(NETWORK_GRACE_MS);
      failure = '';
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== failure) log('network.removal-failed', { reason });
      failure = reason;
    }
    isRunning = false;
  };
}
