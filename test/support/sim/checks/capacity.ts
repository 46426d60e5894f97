/** Capacity check: after each commit, reservations fit hosts and quotas, and gangs are placed as a whole. */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import { type Change, executionsIn } from '../world/store.ts';
import { Check } from './check.ts';

/** Tolerance for binary floating-point sums. */
const ROUNDING = 1e-6;
const PRESENT = ['starting', 'running', 'cleaning up'];

/** What a commit placed. */
interface Placements {
  services: Set<number>;
  executions: Set<number>;
  /** Services that the commit starts on hosts from which another service's container must depart first. */
  startsBesideDeparting: { started: number; departing: number }[];
}

/** The service has released its capacity, and its container still exists. */
const isDeparting = (service: Row | undefined): boolean =>
  service?.placed === 0 && service.status !== 'inactive';

export class CapacityCheck extends Check {
  /** Collects what `changes` place. The ledger must not contain the changes yet. */
  placementsIn(changes: readonly Change[]): Placements {
    const services = new Set<number>();
    const executions = new Set<number>();
    const startsBesideDeparting: Placements['startsBesideDeparting'] = [];
    for (const { table, id, row } of changes) {
      if (table === 'services' && row?.placed === 1 && this.ledger.services.get(id)?.placed !== 1)
        services.add(id);
      if (
        table === 'executions' &&
        row?.status === 'starting' &&
        this.ledger.executions.get(id)?.status !== 'starting'
      )
        executions.add(id);
      if (table === 'services' && row && this.#isStarted(id, row))
        for (const departing of this.#departingFrom(row.host_id))
          startsBesideDeparting.push({ started: id, departing });
    }
    return { services, executions, startsBesideDeparting };
  }

  #isStarted(id: number, { generation, status }: Row): boolean {
    // A hostile agent may claim that a container has already ended of which it was given no start.
    if (status === 'inactive') return false;
    // The services of an execution get their rows when it is placed for the first time.
    const before = Number(this.ledger.services.get(id)?.generation ?? 0);
    return Number(generation) === before + 1;
  }

  #departingFrom(host: Row[string] | undefined): number[] {
    return [...this.ledger.services].flatMap(([id, one]) =>
      one.host_id === host && isDeparting(one) ? [id] : [],
    );
  }

  /** Checks a commit. The ledger must contain its changes. */
  check(changes: readonly Change[], placed: Placements): void {
    for (const { started, departing } of placed.startsBesideDeparting)
      if (started !== departing && isDeparting(this.ledger.services.get(departing)))
        this.violate(
          `service ${started} is started while the container of service ${departing} must still depart from its host`,
        );
    if (placed.services.size > 0) {
      this.#hosts(placed);
      this.#capacity();
      this.#quotas(placed);
    }
    for (const { table, id, row } of changes)
      if (table === 'hosts' && row?.schedulable === 0) this.#drained(id);
    for (const id of new Set(executionsIn(changes))) this.#gang(id);
  }

  /** Placements are allowed only on schedulable hosts that are neither lost nor removed. */
  #hosts({ services }: Placements): void {
    for (const id of services) {
      const host = this.ledger.hosts.get(Number(this.ledger.services.get(id)?.host_id));
      if (host?.schedulable !== 1 || host.lost === 1 || host.removed_ms !== null)
        this.violate(`service ${id} is placed on host ${host?.name}, which is drained, lost or removed`);
    }
  }

  /** A drained host must release its elastic services at once, except those that are already ending. */
  #drained(host: number): void {
    for (const service of this.ledger.services.values()) {
      const execution = this.ledger.executions.get(Number(service.execution_id));
      const stays = service.host_id === host && service.placed === 1 && !this.ledger.isEssential(service);
      const leaves = service.status === 'terminating' || service.exit !== null || service.failure !== null;
      if (stays && !leaves && execution?.ending === null)
        this.violate(`the elastic service ${service.id} remains on the drained host ${host}`);
    }
  }

  #capacity(): void {
    for (const host of this.ledger.hosts.values()) {
      const here = [...this.ledger.services.values()].filter(
        (one) => one.placed === 1 && one.host_id === host.id,
      );
      const [memory, cores] = this.#sum(here);
      if (memory > Number(host.memory_bytes) || cores > Number(host.cores) + ROUNDING)
        this.violate(`host ${host.name} has ${memory} bytes and ${cores} cores reserved, more than it has`);
      const missing = here.flatMap((one) =>
        this.ledger.demandOf(one).labels.filter((label) => !JSON.parse(String(host.labels)).includes(label)),
      );
      if (missing.length > 0) this.violate(`host ${host.name} lacks the labels ${missing} of its services`);
    }
  }

  #quotas({ services, executions }: Placements): void {
    const { users, quotas } = this.ledger;
    for (const user of users.values()) {
      const quota = quotas.get(Number(user.quota_id));
      if (!quota) continue;
      const all = [...this.ledger.executions.values()].filter((one) => one.user_id === user.id);
      const there = all.filter(({ status }) => PRESENT.includes(String(status)));
      const placed = all
        .flatMap(({ id }) => this.ledger.servicesOf(Number(id)))
        .filter((one) => one.placed === 1);
      const [addedMemory, addedCores] = this.#counted(placed.filter(({ id }) => services.has(Number(id))));
      const added = [all.filter(({ id }) => executions.has(Number(id))).length, addedMemory, addedCores];
      const used = [there.length, ...this.#counted(placed)];
      const caps = [quota.concurrent_executions, quota.memory, quota.cores].map(Number);
      for (const [at, cap] of caps.entries())
        if (cap > 0 && Number(added[at]) > 0 && Number(used[at]) > cap + ROUNDING)
          this.violate(`user ${user.username} uses ${used}, more than the quota ${caps}`);
    }
  }

  #gang(id: number): void {
    const execution = this.ledger.executions.get(id);
    if (!execution) return;
    const gang = this.ledger.gangDemands(id);
    const placed = this.ledger
      .servicesOf(id)
      .filter((one) => one.placed === 1 && this.ledger.isEssential(one)).length;
    const whole = execution.status === 'starting' || execution.status === 'running';
    const may = whole ? [gang.length] : execution.status === 'cleaning up' ? [0, gang.length] : [0];
    if (!may.includes(placed))
      this.violate(
        `execution ${id} is ${execution.status} with ${placed} of ${gang.length} essential services placed`,
      );
  }

  /** What services reserve on their hosts. */
  #sum(services: readonly Row[]): [memory: number, cores: number] {
    const needs = services.map((one) => this.ledger.demandOf(one));
    return [needs.reduce((sum, one) => sum + one.memory, 0), needs.reduce((sum, one) => sum + one.cores, 0)];
  }

  /** What counts under the quota: memory limits, and reserved cores. */
  #counted(services: readonly Row[]): [memory: number, cores: number] {
    const limits = services.map((one) => this.ledger.demandOf(one).limit);
    return [limits.reduce((sum, limit) => sum + limit, 0), this.#sum(services)[1]];
  }
}
