/**
 * Owns when the engine is asked what containers use: one round at a time, with a bound on how long it takes. Nothing
 * waits for it, and what it can't find out is not told (P51).
 */
import type { HostUsage } from '../../shared/protocol/up.ts';
import type { Engine } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';
import { nextReadings, type Readings, type RunningContainer, totalOf } from './usage.ts';

export interface UsageMeterOptions {
  engine: Pick<Engine, 'usage'>;
  /** What runs now. */
  running(): readonly RunningContainer[];
  /** What the engine has. */
  cores: number;
  /** Told after each round; undefined where nothing was found out. */
  found(usage: HostUsage | undefined): void;
  /** What a round may take. */
  timeoutMs: number;
  log: Logger;
}

export class UsageMeter {
  readonly #options: UsageMeterOptions;
  #readings: Readings = new Map();
  #isMeasuring = false;
  #wasAvailable = true;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
  }

  /** One round, unless the one before is still under way; never rejects. */
  async measure(): Promise<void> {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    const { engine, running, cores, found, timeoutMs, log } = this.#options;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    try {
      const ids = oldestFirst(running(), this.#readings);
      const samples = await engine.usage(ids, timeout.signal);
      this.#readings = nextReadings(running(), this.#readings, samples);
      this.#wasAvailable = true;
      found(totalOf(this.#readings, cores));
    } catch (error) {
      found(undefined);
      if (this.#wasAvailable) log('usage.unavailable', { reason: messageOf(error) });
      this.#wasAvailable = false;
    } finally {
      clearTimeout(timer);
      this.#isMeasuring = false;
    }
  }
}

/** Those whose samples were late are asked first, so that each has its turn where there is no time for all. */
function oldestFirst(running: readonly RunningContainer[], readings: Readings): string[] {
  const sampledMs = (id: string) => readings.get(id)?.timeMs ?? 0;
  return running.map(({ id }) => id).sort((a, b) => sampledMs(a) - sampledMs(b));
}
