/**
 * Usage meter: measures the containers' usage, one round at a time and within a time limit. Nothing waits for
 * a round, and a failed round reports no usage (P51).
 */
import type { HostUsage } from '../../shared/protocol/up.ts';
import type { Engine } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';
import { nextReadings, type Readings, type RunningContainer, totalOf } from './usage.ts';
import type { UsageHistory } from './usage-history.ts';

export interface UsageMeterOptions {
  engine: Pick<Engine, 'usage'>;
  /** The containers that run now. */
  running(): readonly RunningContainer[];
  /** Cores of the engine. */
  cores: number;
  /** Called after each round. Undefined if no sample was read. */
  found(usage: HostUsage | undefined): void;
  /** Keeps what each service used (P229). */
  history: Pick<UsageHistory, 'note'>;
  /** A clock that is never set. */
  uptimeMs(): number;
  /** Time limit of a round. */
  timeoutMs: number;
  log: Logger;
}

/**
 * Measures also while the control plane wants only pulses, or is away (P231). Returns the function that ends
 * it.
 */
export function startUsageRounds(meter: Pick<UsageMeter, 'measure'>, everyMs: number): () => void {
  const rounds = setInterval(() => void meter.measure(), everyMs);
  return () => clearInterval(rounds);
}

export class UsageMeter {
  readonly #options: UsageMeterOptions;
  #readings: Readings = new Map();
  #isMeasuring = false;
  #wasAvailable = true;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
  }

  /** Runs one round, unless a round is in progress. Never rejects. */
  async measure(): Promise<void> {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    const { engine, running, cores, found, history, uptimeMs, timeoutMs, log } = this.#options;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    try {
      const ids = oldestFirst(running(), this.#readings);
      const samples = await engine.usage(ids, timeout.signal);
      this.#readings = nextReadings(running(), this.#readings, samples);
      history.note(running(), this.#readings, uptimeMs());
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

/** Containers whose samples were late come first, so that each gets its turn if the time is short. */
function oldestFirst(running: readonly RunningContainer[], readings: Readings): string[] {
  const sampledMs = (id: string) => readings.get(id)?.timeMs ?? 0;
  return running.map(({ id }) => id).sort((a, b) => sampledMs(a) - sampledMs(b));
}
