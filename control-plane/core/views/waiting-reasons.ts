/**
 * Why the executions of a list wait, at a bounded cost: within a period only some executions are explained
 * anew, for all readers together. The others have their last explanation, or none yet. Pure.
 */
import { type Execution, isLoaded } from '../model/execution.ts';
import type { Cluster } from '../state/cluster.ts';
import { explainQueue } from './explanation.ts';

export interface WaitingReason {
  executionId: number;
  /** Sentences for people, as in an explanation; empty if it is about to start. */
  waitingFor: readonly string[];
}

/** How many are explained within a period: fewer where an explanation examines many hosts. */
const FRESH = { max: 50, min: 10, hosts: 10_000 };
const MIN_PERIOD_MS = 1_000;
/** Explanations that are kept, and for how long. */
const MAX_KNOWN = 1_000;
const MAX_AGE_MS = 60_000;
/** The descriptions that are loaded for one list. */
const MAX_BYTES = 4 * 2 ** 20;

export class WaitingReasons {
  readonly #known = new Map<number, { waitingFor: readonly string[]; atMs: number }>();
  #period = { fromMs: 0, explained: 0 };

  /** The reasons of those of these executions that are queued, as far as there are any. */
  of(cluster: Cluster, ids: readonly number[], nowMs: number): WaitingReason[] {
    const due = this.due(cluster, ids, nowMs).filter(isLoaded);
    const explained = due.length === 0 ? [] : explainQueue(cluster, () => due, nowMs);
    for (const { execution, waitingFor } of explained) {
      this.#known.delete(execution.id);
      this.#known.set(execution.id, { waitingFor, atMs: nowMs });
    }
    this.#period.explained += explained.length;
    for (const id of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) break;
      this.#known.delete(id);
    }
    return queuedOf(cluster, ids).flatMap(({ id }) => {
      const known = this.#known.get(id);
      const isOld = !known || nowMs < known.atMs || nowMs > known.atMs + MAX_AGE_MS;
      return isOld ? [] : [{ executionId: id, waitingFor: known.waitingFor }];
    });
  }

  /**
   * The executions that `of` explains next, the longest unexplained first. Their services must be in memory.
   */
  due(cluster: Cluster, ids: readonly number[], nowMs: number): Execution[] {
    const periodMs = Math.max(MIN_PERIOD_MS, cluster.hosts.size + cluster.queue.size / 10);
    const isWithin = (fromMs: number) => nowMs >= fromMs && nowMs < fromMs + periodMs;
    if (!isWithin(this.#period.fromMs)) this.#period = { fromMs: nowMs, explained: 0 };
    const most = Math.max(FRESH.min, Math.min(FRESH.max, Math.floor(FRESH.hosts / (cluster.hosts.size + 1))));
    const explainedMs = ({ id }: Execution) => this.#known.get(id)?.atMs ?? 0;
    let bytes = 0;
    return queuedOf(cluster, ids)
      .filter((execution) => !isWithin(explainedMs(execution)))
      .sort((a, b) => explainedMs(a) - explainedMs(b))
      .slice(0, Math.max(0, most - this.#period.explained))
      .filter(({ descriptionBytes }) => {
        bytes += descriptionBytes;
        return bytes <= MAX_BYTES;
      });
  }
}

const queuedOf = ({ executions }: Cluster, ids: readonly number[]): Execution[] =>
  ids
    .flatMap((id) => executions.get(id) ?? [])
    .filter(({ status, deleted }) => status === 'queued' && !deleted);
