/** Lifecycle check: states and times change only as SPEC.md allows, and no row is lost. */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import { UNREACHABLE } from '../machine/engine.ts';
import type { Change } from '../world/store.ts';
import type { World } from '../world/time.ts';
import { Check } from './check.ts';
import { isEnded, isLive, type Ledger } from './ledger.ts';
import type { ReportedStarts } from './reported-starts.ts';

const RANKS: Record<string, number> = {
  submitted: 0,
  queued: 1,
  starting: 2,
  running: 3,
  'cleaning up': 4,
  terminated: 5,
  error: 5,
};

/** A turn that changes quotas leaves all else to the next one. */
const STOP_SLACK_MS = 60_000;

export class LifecycleCheck extends Check {
  /** Services that have been on more than one host. */
  readonly moved = new Set<number>();

  readonly #starts: ReportedStarts;
  readonly #removedWithServices = new Set<number>();
  /** Lost hosts that become connected in the current commit. Their hello shows which containers are gone. */
  readonly #reconnecting = new Set<number>();

  /** Unhealthy services that are still active, and since when. */
  readonly #unhealthy = new Map<number, number>();

  constructor(world: World, ledger: Ledger, starts: ReportedStarts) {
    super(world, ledger);
    this.#starts = starts;
  }

  /** Checks a change. The ledger must not contain the change yet. */
  check({ table, id, row }: Change): void {
    if (table === 'executions') this.#execution(id, this.ledger.executions.get(id), row);
    if (table === 'services') this.#service(id, this.ledger.services.get(id), row);
    if (table === 'hosts' && row && row.removed_ms !== null) this.#hostGone(id);
    if (table === 'hosts' && row?.lost === 0 && this.ledger.hosts.get(id)?.lost === 1)
      this.#reconnecting.add(id);
  }

  /** The logs on a removed host are gone. The same commit may contain the last reports of the host. */
  #hostGone(id: number): void {
    const here = this.ledger.servicesAt(id);
    for (const service of here) this.moved.add(Number(service.id));
    const isLeft = here.some(
      (row) => (row.placed === 1 || row.status !== 'inactive') && !this.#starts.isGone(row),
    );
    if (isLeft && !this.ledger.isRemoved(id)) this.#removedWithServices.add(id);
  }

  /** Checks a commit. The ledger must contain all its changes. */
  committed(): void {
    for (const id of this.#removedWithServices) {
      const host = this.ledger.hosts.get(id);
      if (host?.silent_since_ms === null && host.lost === 0)
        this.violate(`host ${id} is removed while it is connected and has services`);
    }
    this.#removedWithServices.clear();
    this.#reconnecting.clear();
    for (const [id, sinceMs] of this.#unhealthy)
      if (this.ledger.services.get(id)?.status !== 'active') this.#unhealthy.delete(id);
      else if (this.world.nowMs - sinceMs > STOP_SLACK_MS)
        this.violate(`service ${id} is unhealthy and active for ${STOP_SLACK_MS} ms`);
  }

  /**
   * True if the coordinator need not wait for the container: its host is lost or removed, or its agent's
   * lease expired.
   */
  #isAbandoned({ id, generation, host_id }: Row): boolean {
    if (host_id === null) return false;
    const isLost =
      this.ledger.hosts.get(Number(host_id))?.lost === 1 || this.#reconnecting.has(Number(host_id));
    const isLapsed = this.#starts.lapsed.has(`${id}.${generation}`);
    return isLost || this.ledger.isRemoved(Number(host_id)) || isLapsed;
  }

  /** True if the service may be placed again: no container that the coordinator can reach is left of it. */
  #mayLeave(row: Row): boolean {
    return !isLive(row) || this.#isAbandoned(row) || this.#starts.isGone(row);
  }

  /** True if the execution may return to the queue although none of its starts failed. */
  #mayMove(id: number, { ending }: Row): boolean {
    if (typeof ending === 'string' && JSON.parse(ending).moving) return true;
    return this.ledger
      .servicesOf(id)
      .some((one) => this.#isAbandoned(one) || this.ledger.hosts.get(Number(one.host_id))?.schedulable === 0);
  }

  #execution(id: number, before: Row | undefined, after: Row | undefined): void {
    if (!after) {
      this.#purged(id, before);
      return;
    }
    if (before) this.#changed(id, before, after);
    else if (after.status !== 'queued' && after.status !== 'starting')
      this.#violate(id, `begins as ${after.status}`);
    if (isEnded(after) !== (after.time_end_ms !== null))
      this.#violate(id, `is ${after.status} with the end time ${after.time_end_ms}`);
    const times = [after.time_submit_ms, after.time_start_ms, after.time_end_ms].filter(
      (one) => one !== null,
    );
    if (times.some((one, at) => at > 0 && Number(one) < Number(times[at - 1])))
      this.#violate(id, `has times that run backwards: ${times}`);
    if ((after.error_message !== null) !== (after.status === 'error'))
      this.#violate(id, `is ${after.status} with the message ${after.error_message}`);
    if (after.status === 'running' && after.time_start_ms === null)
      this.#violate(id, 'is running without a start time');
    if (after.status === 'queued' && after.time_start_ms !== null)
      this.#violate(id, 'is queued with a start time');
  }

  #changed(id: number, before: Row, after: Row): void {
    const from = String(before.status);
    const to = String(after.status);
    this.world.count(`execution: ${from} to ${to}`);
    const isBack = (from === 'starting' || from === 'running') && (to === 'queued' || to === 'starting');
    const moves = isBack && this.#mayMove(id, before);
    if (to === 'error' && String(after.error_message).includes('time limit'))
      this.world.count('execution: ended by its time limit');
    if (moves && from === 'running') this.world.count('execution: moved');
    const isRetry = from === 'starting' && to === 'queued';
    if (!isRetry && !moves && !(Number(RANKS[to]) >= Number(RANKS[from])))
      this.#violate(id, `was ${from} and is ${to}`);
    for (const what of ['name', 'user_id', 'description', 'time_submit_ms'])
      if (before[what] !== after[what]) this.#violate(id, `has a changed ${what}`);
    for (const what of ['time_start_ms', 'time_end_ms']) {
      const isReset = moves && after[what] === null;
      if (before[what] !== null && before[what] !== after[what] && !isReset)
        this.#violate(id, `has a changed ${what}`);
    }
    if (Number(after.deleted) < Number(before.deleted)) this.#violate(id, 'is no longer marked as deleted');
    if (!isEnded(before)) return;
    for (const what of ['status', 'error_message', 'ending'])
      if (before[what] !== after[what]) this.#violate(id, `has ended and then changed its ${what}`);
  }

  #purged(id: number, before: Row | undefined): void {
    this.world.count('execution: purged');
    if (before?.deleted !== 1 || !isEnded(before))
      this.#violate(id, `is purged as ${before?.status}, with deleted = ${before?.deleted}`);
    for (const service of this.ledger.servicesOf(id)) {
      if (service.status !== 'inactive')
        this.#violate(id, `is purged while service ${service.id} is ${service.status}`);
      const hasLog = service.generation !== 0 && service.forgotten !== 1;
      if (hasLog && !this.ledger.isRemoved(Number(service.host_id)))
        this.#violate(id, `is purged before the log of service ${service.id} is removed`);
    }
  }

  #service(id: number, before: Row | undefined, after: Row | undefined): void {
    if (!after) return;
    if (!before) {
      if (Number(after.generation) > 0) this.world.count('service: first start');
      return;
    }
    const grown = Number(after.generation) - Number(before.generation);
    const what = `has service ${id}, which`;
    const execution = Number(after.execution_id);
    // The same commit may contain a hello with a later start (C102), and the next start.
    const follows = grown === 1 || Number(after.generation) === this.#starts.latestListed(id) + 1;
    if (grown !== 0 && !(grown > 0 && follows))
      this.#violate(execution, `${what} went from generation ${before.generation} to ${after.generation}`);
    if (grown > 0) {
      this.world.count(before.generation === 0 ? 'service: first start' : 'service: started again');
      if (!this.#mayLeave(before))
        this.#violate(execution, `${what} is restarted while it is ${before.status}`);
    }
    if (grown === 0) this.#end(execution, what, before, after);
    const becomesActive = after.status === 'active' && (before.status !== 'active' || grown > 0);
    if (becomesActive && this.ledger.demandOf(after).isChecked) {
      this.world.count('service: active once it is healthy');
      if (!this.#starts.hadHealth(after, 'healthy'))
        this.#violate(execution, `${what} is active and not healthy`);
    }
    const moved = before.host_id !== null && before.host_id !== after.host_id;
    if (moved) {
      this.world.count('service: moved to another host');
      this.moved.add(id);
    }
    if (moved && !this.#mayLeave(before))
      this.#violate(execution, `${what} moves while it is ${before.status}`);
    if (before.placed === 1 && after.placed === 0 && after.status === 'terminating')
      this.world.count('service: releases its capacity');
  }

  /** Checks the end of a start, if there is one: an exit or a failure. */
  #end(execution: number, what: string, before: Row, after: Row): void {
    if (before.exit !== null || before.failure !== null) return;
    const exit = typeof after.exit === 'string' ? JSON.parse(after.exit) : null;
    if (!exit && after.failure === null) return;
    const isStopped = before.status === 'terminating';
    // What was to stop anyway may be reported as ended: a sync without it takes the agent's mark away. A
    // report of bad health that was sent before still counts.
    if (!isStopped && exit?.unhealthy === undefined && this.#starts.isGivenUp(after))
      this.#violate(execution, `${what} counts as ended although its agent gave it up without contact`);
    if (String(after.failure).includes(UNREACHABLE))
      this.#violate(execution, `${what} failed because the engine did not answer`);
    if (exit?.unhealthy !== undefined) {
      this.world.count('service: died of its health');
      if (after.status === 'active') this.#unhealthy.set(Number(after.id), this.world.nowMs);
      if (isStopped || !this.#starts.hadHealth(before, 'unhealthy'))
        this.#violate(execution, `${what} counts as unhealthy although nobody reported that`);
      return;
    }
    if (exit?.code === null && !this.#starts.mayBeGone(before))
      this.#violate(execution, `${what} counts as vanished although nobody reported that`);
    if (isStopped && (before.placed !== 1 || after.failure !== null))
      this.#violate(execution, `${what} had to stop, and counts as failed or ended`);
  }

  #violate(execution: number, how: string): void {
    this.violate(`execution ${execution} ${how}`);
  }
}
