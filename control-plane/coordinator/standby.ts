/**
 * A standby: a control plane that waits while another one is active on the same database, and then takes over
 * (C251 to C257, COORD-6). It waits again once a later one has taken over from it.
 */
import { OperationError, StandbyError } from '../core/model/errors.ts';
import {
  type Sighting,
  type Verdict,
  verdictOf,
  WATCH_PERIOD_MS,
  type Watch,
  watch,
} from '../core/state/takeover-watch.ts';
import type { Db } from '../store/db/db.ts';
import { readSighting } from '../store/db/epoch.ts';
import type { Agents } from './agents/agents.ts';
import type { Coordinator } from './coordinator.ts';
import { type CoordinatorApi, coordinatorVerbs } from './coordinator-api.ts';
import type { Clock, Logger } from './ports.ts';
import type { PlacementSource } from './streams/placements.ts';

export interface StandbyDeps {
  db: Db;
  clock: Pick<Clock, 'after'>;
  log: Logger;
  /** A clock of this machine that is never set, in milliseconds. */
  monotonicMs(): number;
  /** Rejects if this program must not use the database any more. Called before each takeover. */
  checkSchema(): Promise<void>;
  /**
   * Makes a coordinator for one takeover, which calls `retired` once it was superseded. With `seen` it takes
   * over only if the other one has not moved since.
   */
  newCoordinator(seen: Sighting | undefined, retired: () => void): Coordinator;
}

const WAITS =
  'This control plane is a standby: another control plane is active. Send the request to that one, or try again: this one takes over once the other does not answer.';
const CUT_OFF =
  'The database does not answer, so another control plane may have taken over. Connect to that one, or try again.';
const CANNOT_WATCH =
  'This control plane is a standby: another control plane holds the database and moves no counter that can be watched, as a Worker does. If it has ended, restart this one once without BERTH_STANDBY.';

export class Standby {
  /** The API of the coordinator. Rejects with StandbyError while this control plane waits. */
  readonly api: CoordinatorApi & PlacementSource;
  /** Serves the connections of agents. Throws StandbyError while this control plane waits. */
  readonly agents: Pick<Agents, 'admit' | 'connect' | 'session'> = {
    admit: (proof) => this.#assertActive().agents.admit(proof),
    connect: (socket, hostId) => this.#assertActive().agents.connect(socket, hostId),
    session: (hostId) => this.#active?.agents.session(hostId),
  };
  readonly #deps: StandbyDeps;
  /** Undefined while this control plane waits. */
  #active: Coordinator | undefined;
  #watch: Watch | undefined;
  #verdict: Verdict = 'wait';
  #isFailing = false;

  constructor(deps: StandbyDeps) {
    this.#deps = deps;
    const methods = [...coordinatorVerbs, 'place' as const].map((verb) => [
      verb,
      async (...args: unknown[]) => {
        const active = this.#assertActive();
        return Reflect.apply(active[verb], active, args);
      },
    ]);
    this.api = Object.fromEntries(methods);
  }

  /** Begins to watch, or takes over `atOnce` (C256). Call it once. */
  start(atOnce = false): void {
    if (atOnce) {
      this.#takeOver(undefined);
      return;
    }
    this.#deps.log('standby.waiting');
    void this.#look();
  }

  /** Throws StandbyError while this control plane waits. */
  assertActive(): void {
    this.#assertActive();
  }

  /** Throws OperationError while another control plane is active or may be, which agents must try (C256). */
  assertAdmitting(): void {
    if (this.#assertActive().isCutOff) throw new OperationError('unavailable', CUT_OFF);
  }

  /** See Coordinator. */
  endEvents(): void {
    this.#active?.endEvents();
  }

  #assertActive(): Coordinator {
    if (this.#active) return this.#active;
    throw this.#verdict === 'cannot-watch'
      ? new StandbyError(CANNOT_WATCH, 'cannot see whether another one is active')
      : new StandbyError(WAITS, 'another one is active');
  }

  async #look(): Promise<void> {
    const { clock, log, checkSchema } = this.#deps;
    try {
      const { verdict, seen } = await this.#judge();
      this.#isFailing = false;
      if (verdict === 'take-over') {
        await checkSchema();
        return this.#takeOver(seen);
      }
    } catch (error) {
      // The active control plane may have no answer of the database either, and so move no counter.
      this.#watch = undefined;
      if (!this.#isFailing) log('standby.failed', { error: String(error) });
      this.#isFailing = true;
    }
    clock.after(WATCH_PERIOD_MS, () => void this.#look());
  }

  async #judge(): Promise<{ verdict: Verdict; seen: Sighting }> {
    const { db, log, monotonicMs } = this.#deps;
    const sentMs = monotonicMs();
    const seen = await readSighting(db);
    this.#watch = watch(this.#watch, seen, { sentMs, receivedMs: monotonicMs() });
    const verdict = verdictOf(this.#watch);
    if (verdict === 'cannot-watch' && verdict !== this.#verdict)
      log('standby.cannot-watch', { epoch: seen.epoch });
    this.#verdict = verdict;
    return { verdict, seen };
  }

  #takeOver(seen: Sighting | undefined): void {
    const { log, newCoordinator } = this.#deps;
    log('standby.takes-over', { epoch: seen?.epoch });
    const coordinator = newCoordinator(seen, () => this.#retire(coordinator));
    this.#active = coordinator;
    coordinator.wake();
  }

  /** Called for each turn of a coordinator that was superseded. */
  #retire(coordinator: Coordinator): void {
    if (this.#active !== coordinator) return;
    this.#active = undefined;
    this.#watch = undefined;
    this.#verdict = 'wait';
    this.start();
  }
}
