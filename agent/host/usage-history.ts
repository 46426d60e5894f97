/**
 * Usage history: the series of the last start of each service that runs here, or that ended a short time ago.
 * It is in memory only, and begins anew with the agent (P230).
 */
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import { usageLines } from '../../shared/protocol/usage-lines.ts';
import type { Readings, RunningContainer } from './usage.ts';
import { UsageSeries } from './usage-series.ts';

const KEPT_MS = 6 * 3_600_000;
/** Services that have ended. Some 10 KiB each. */
const MAX_ENDED = 500;

interface Kept {
  generation: number;
  series: UsageSeries;
  /** Undefined while it runs. */
  endedMs: number | undefined;
}

export class UsageHistory {
  /** By service, those that ended last at the end. */
  readonly #kept = new Map<number, Kept>();

  /** Takes over the readings of a round. `nowMs` is on a clock that is never set. */
  note(running: readonly RunningContainer[], readings: Readings, nowMs: number): void {
    for (const { id, service, generation, startedAtMs } of running) {
      const reading = readings.get(id);
      if (!reading) continue;
      const known = this.#kept.get(service);
      if (known && known.generation > generation) continue;
      const series = known?.generation === generation ? known.series : new UsageSeries(startedAtMs);
      series.note(reading);
      this.#kept.set(service, { generation, series, endedMs: undefined });
    }
    this.#end(new Set(running.map(({ service }) => service)), nowMs);
  }

  /** The usage as lines of text (P228), or undefined if there is none of this start. */
  linesOf({ service, generation }: ServiceKey): string | undefined {
    const kept = this.#kept.get(service);
    return kept?.generation === generation ? usageLines(kept.series.usage) : undefined;
  }

  #end(running: ReadonlySet<number>, nowMs: number): void {
    for (const [service, kept] of [...this.#kept]) {
      if (running.has(service)) continue;
      if (kept.endedMs === undefined) {
        this.#kept.delete(service);
        this.#kept.set(service, { ...kept, endedMs: nowMs });
      } else if (nowMs - kept.endedMs >= KEPT_MS) this.#kept.delete(service);
    }
    let tooMany = this.#kept.size - running.size - MAX_ENDED;
    for (const [service, { endedMs }] of this.#kept) {
      if (tooMany <= 0) return;
      if (endedMs === undefined) continue;
      this.#kept.delete(service);
      tooMany -= 1;
    }
  }
}
