/**
 * Restart check: a service whose description has a restart policy is never started again beyond its attempts
 * within its window, nor before its delay (C284). Counts deaths itself, by the times that they were given.
 */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { Change } from '../world/store.ts';
import type { World } from '../world/time.ts';
import { Check } from './check.ts';
import type { Ledger } from './ledger.ts';

/** Commits of a death and of the next start may be delayed differently. */
const SLACK_MS = 1_000;

interface Deaths {
  /** By the clock of the control plane, since it was set last. */
  timesMs: number[];
  /** The start that died last, and the time of the world at its commit. */
  generation: number;
  committedMs: number;
  /** Whether one more restart is beyond the policy. */
  isOver: boolean;
  /** A start that failed is tried again by delays of its own. */
  hasDelay: boolean;
}

export class RestartCheck extends Check {
  readonly #clockJumpsMs: readonly number[];
  readonly #mayMiscount: (sinceMs: number) => boolean;
  readonly #deaths = new Map<number, Deaths>();

  /** `mayMiscount`: whether a clock was set since then, and nothing measured by how much. */
  constructor(
    world: World,
    ledger: Ledger,
    clockJumpsMs: readonly number[],
    mayMiscount: (sinceMs: number) => boolean,
  ) {
    super(world, ledger);
    this.#clockJumpsMs = clockJumpsMs;
    this.#mayMiscount = mayMiscount;
  }

  /** Checks a commit. The ledger must not contain its changes yet. */
  check(changes: readonly Change[]): void {
    for (const { table, id, row } of changes)
      if (table === 'executions' && row?.time_place_ms !== this.ledger.executions.get(id)?.time_place_ms)
        this.#placedAnew(id);
    for (const { table, id, row } of changes) if (table === 'services' && row) this.#service(id, row);
  }

  /** Deaths of an earlier placement do not count. */
  #placedAnew(execution: number): void {
    for (const { id } of this.ledger.servicesOf(execution)) this.#deaths.delete(Number(id));
  }

  #service(id: number, row: Row): void {
    const before = this.ledger.services.get(id);
    if (!before || !this.ledger.demandOf(row).restart) return;
    if (Number(row.generation) > Number(before.generation)) this.#restarted(id, before);
    else if (endOf(before) === null && endOf(row) !== null && before.status !== 'terminating')
      this.#died(id, row);
  }

  #died(id: number, row: Row): void {
    const { restart, essential } = this.ledger.demandOf(row);
    const generation = Number(row.generation);
    const failure = row.failure === null ? undefined : JSON.parse(String(row.failure));
    const earlier = this.#deaths.get(id);
    // Not a death while the execution runs; else the whole execution is placed anew, or ends.
    if (failure?.temporary) {
      if (earlier) this.#deaths.set(id, { ...earlier, generation, isOver: false, hasDelay: false });
      return;
    }
    const [timeMs = 0] = JSON.parse(String(row.deaths_ms)).slice(-1);
    const sinceMs = (earlier?.committedMs ?? 0) - SLACK_MS;
    const isComparable = earlier && !this.#clockJumpsMs.some((jumpMs) => jumpMs >= sinceMs);
    const timesMs = [...(isComparable ? earlier.timesMs : []), timeMs];
    const counted = timesMs.filter((one) => one > timeMs - (restart?.windowMs ?? 0));
    const isElastic = Number(/\d+$/.exec(String(row.name))?.[0]) >= essential;
    const isOver = !isElastic && counted.length > (restart?.attempts ?? 0);
    if (isOver) this.world.count('service: died beyond its restart policy');
    const committedMs = this.world.nowMs;
    this.#deaths.set(id, { timesMs, generation, committedMs, isOver, hasDelay: failure === undefined });
  }

  #restarted(id: number, before: Row): void {
    const deaths = this.#deaths.get(id);
    if (deaths?.generation !== Number(before.generation)) return;
    this.world.count('service: restarted by its policy');
    const { committedMs, isOver, timesMs, hasDelay } = deaths;
    if (isOver) this.violate(`service ${id} starts again after ${timesMs.length} deaths, beyond its policy`);
    const { restart } = this.ledger.demandOf(before);
    const waitedMs = this.world.nowMs - committedMs;
    const isEarly = waitedMs < (restart?.delayMs ?? 0) - SLACK_MS;
    if (hasDelay && isEarly && !this.#mayMiscount(committedMs - SLACK_MS))
      this.violate(`service ${id} starts again ${waitedMs} ms after its death, before its delay`);
  }
}

const endOf = ({ exit, failure }: Row) => exit ?? failure ?? null;
