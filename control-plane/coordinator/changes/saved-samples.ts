/**
 * Saved samples: writes what the charts of the last hour show beside the turns, once a minute at most, and
 * reads it when somebody first looks (WEB-10). A coordinator that sleeps or ends loses the samples of a
 * minute.
 */
import { HISTORY_MS } from '../../core/views/history.ts';
import type { Overview } from '../../core/views/overview.ts';
import { loadSamples, writeSamples } from '../../store/cluster/sample-rows.ts';
import type { Db } from '../../store/db/db.ts';
import type { Clock, Logger } from '../ports.ts';
import { readDatabase } from '../turn-inputs.ts';
import type { Turns } from '../turns.ts';

const SAVE_MS = 60_000;

export class SavedSamples {
  readonly #turns: Turns;
  readonly #deps: { db: Db; clock: Clock; log: Logger };
  readonly #overview: Overview;
  /** The moment of the last sample in the database; undefined until a turn. */
  #savedMs: number | undefined;
  #movedMs = 0;
  #isSaving = false;
  #loading: Promise<void> | undefined;

  constructor(turns: Turns, deps: { db: Db; clock: Clock; log: Logger }, overview: Overview) {
    this.#turns = turns;
    this.#deps = deps;
    this.#overview = overview;
  }

  clockStepped(stepMs: number): void {
    if (this.#savedMs !== undefined) this.#savedMs += stepMs;
    this.#movedMs += stepMs;
  }

  /** A turn is committed, and the overview has its sample. */
  committed(): void {
    const nowMs = this.#deps.clock.nowMs();
    // What was sampled in the future goes.
    const savedMs = Math.min(this.#savedMs ?? this.#turns.loaded.sampledMs, nowMs);
    this.#savedMs = savedMs;
    if (this.#isSaving || nowMs < savedMs + SAVE_MS) return;
    void this.#save(savedMs, nowMs);
  }

  /** Resolves once the overview has the samples of earlier coordinators. */
  async loaded(): Promise<void> {
    this.#loading ??= readDatabase(loadSamples(this.#deps.db)).then((saved) => this.#overview.restore(saved));
    await this.#loading.catch((error) => {
      this.#loading = undefined;
      throw error;
    });
  }

  async #save(savedMs: number, nowMs: number): Promise<void> {
    const { db, log } = this.#deps;
    const samples = this.#overview.samplesSince(savedMs);
    const movedMs = this.#movedMs;
    this.#isSaving = true;
    try {
      await writeSamples(db, this.#turns.loaded.epoch, {
        samples,
        movedMs,
        savedMs,
        fromMs: nowMs - HISTORY_MS,
      });
      // The clock may have been set meanwhile.
      this.#movedMs -= movedMs;
      this.#savedMs = Math.max(savedMs, ...samples.map(({ atMs }) => atMs)) + this.#movedMs;
    } catch (error) {
      log('samples.failed', { error: String(error) });
    }
    this.#isSaving = false;
  }
}
