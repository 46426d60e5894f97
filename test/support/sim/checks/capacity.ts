/** Owns the check of what is reserved after each commit: capacity of hosts, quotas of users, and gangs that start whole. */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { Change } from '../world/store.ts';
import type { World } from '../world/time.ts';
import type { Ledger } from './ledger.ts';

/** Of what decimals lose in binary. */
const ROUNDING = 1e-6;
const PRESENT = ['starting', 'running', 'cleaning up'];

/** What a commit placed. */
interface Placements {
  services: Set<number>;
  executions: Set<number>;
  /** Services that are started, and those whose containers were to leave their hosts before. */
  startsBesideDeparting: { started: number; departing: number }[];
}

/** It has given its room away, and its container is still there. */
const isDeparting = (service: Row | undefined): boolean =>
  service?.placed === 0 && service.status !== 'inactive';

export class CapacityCheck {
  readonly #world: World;
  readonly #ledger: Ledger;

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  /** What `changes` place; before they are in the ledger. */
  placementsIn(changes: readonly Change[]): Placements {
    const services = new Set<number>();
    const executions = new Set<number>();
    const startsBesideDeparting: Placements['startsBesideDeparting'] = [];
    for (const { table, id, row } of changes) {
      if (table === 'services' && row?.placed === 1 && this.#ledger.services.get(id)?.placed !== 1)
        services.add(id);
      if (
        table === 'executions' &&
        row?.status === 'starting' &&
        this.#ledger.executions.get(id)?.status !== 'starting'
      )
        executions.add(id);
      if (table === 'services' && row && this.#isStarted(id, row))
        for (const departing of this.#departingFrom(row.host_id))
          startsBesideDeparting.push({ started: id, departing });
    }
    return { services, executions, startsBesideDeparting };
  }

  #isStarted(id: number, { generation }: Row): boolean {
    const before = this.#ledger.services.get(id);
    return before !== undefined && Number(generation) === Number(before.generation) + 1;
  }

  #departingFrom(host: Row[string] | undefined): number[] {
    return [...this.#ledger.services].flatMap(([id, one]) =>
      one.host_id === host && isDeparting(one) ? [id] : [],
    );
  }

  /** After the changes are in the ledger. */
  check(changes: readonly Change[], placed: Placements): void {
    for (const { started, departing } of placed.startsBesideDeparting)
      if (started !== departing && isDeparting(this.#ledger.services.get(departing)))
        this.#world.violate(`service ${started} is started while ${departing} is still to leave its host`);
    if (placed.services.size > 0) {
      this.#hosts(placed);
      this.#capacity();
      this.#quotas(placed);
    }
    for (const { table, id, row } of changes)
      if (table === 'hosts' && row?.schedulable === 0) this.#drained(id);
    const touched = new Set(
      changes.flatMap(({ table, id, row }) =>
        table === 'executions' ? [id] : table === 'services' && row ? [Number(row.execution_id)] : [],
      ),
    );
    for (const id of touched) this.#gang(id);
  }

  /** Nothing new where nothing may be started. */
  #hosts({ services }: Placements): void {
    for (const id of services) {
      const host = this.#ledger.hosts.get(Number(this.#ledger.services.get(id)?.host_id));
      if (host?.schedulable !== 1 || host.lost === 1 || host.removed_ms !== null)
        this.#world.violate(
          `service ${id} is placed on host ${host?.name}, which is drained, lost or removed`,
        );
    }
  }

  /** What is elastic leaves at once, but for what leaves anyway. */
  #drained(host: number): void {
    for (const service of this.#ledger.services.values()) {
      const execution = this.#ledger.executions.get(Number(service.execution_id));
      const stays = service.host_id === host && service.placed === 1 && !this.#ledger.isEssential(service);
      const leaves = service.status === 'terminating' || service.exit !== null || service.failure !== null;
      if (stays && !leaves && execution?.ending === null)
        this.#world.violate(`the elastic service ${service.id} stays on the drained host ${host}`);
    }
  }

  #capacity(): void {
    for (const host of this.#ledger.hosts.values()) {
      const here = [...this.#ledger.services.values()].filter(
        (one) => one.placed === 1 && one.host_id === host.id,
      );
      const [memory, cores] = this.#sum(here);
      if (memory > Number(host.memory_bytes) || cores > Number(host.cores) + ROUNDING)
        this.#world.violate(`host ${host.name} has ${memory} bytes and ${cores} cores reserved`);
      const missing = here.flatMap((one) =>
        this.#ledger.demandOf(one).labels.filter((label) => !JSON.parse(String(host.labels)).includes(label)),
      );
      if (missing.length > 0) this.#world.violate(`host ${host.name} lacks the labels ${missing}`);
    }
  }

  #quotas({ services, executions }: Placements): void {
    const { users, quotas } = this.#ledger;
    for (const user of users.values()) {
      const quota = quotas.get(Number(user.quota_id));
      if (!quota) continue;
      const all = [...this.#ledger.executions.values()].filter((one) => one.user_id === user.id);
      const there = all.filter(({ status }) => PRESENT.includes(String(status)));
      const placed = all
        .flatMap(({ id }) => this.#ledger.servicesOf(Number(id)))
        .filter((one) => one.placed === 1);
      const [addedMemory, addedCores] = this.#sum(placed.filter(({ id }) => services.has(Number(id))));
      const added = [all.filter(({ id }) => executions.has(Number(id))).length, addedMemory, addedCores];
      const used = [there.length, ...this.#sum(placed)];
      const caps = [quota.concurrent_executions, quota.memory, quota.cores].map(Number);
      for (const [at, cap] of caps.entries())
        if (cap > 0 && Number(added[at]) > 0 && Number(used[at]) > cap + ROUNDING)
          this.#world.violate(`user ${user.username} has ${used} with the caps ${caps}`);
    }
  }

  #gang(id: number): void {
    const execution = this.#ledger.executions.get(id);
    if (!execution) return;
    const gang = this.#ledger.servicesOf(id).filter((one) => this.#ledger.isEssential(one));
    const placed = gang.filter((one) => one.placed === 1).length;
    const whole = execution.status === 'starting' || execution.status === 'running';
    const may = whole ? [gang.length] : execution.status === 'cleaning up' ? [0, gang.length] : [0];
    if (!may.includes(placed))
      this.#world.violate(
        `execution ${id} is ${execution.status} with ${placed} of ${gang.length} essential services placed`,
      );
  }

  #sum(services: readonly Row[]): [memory: number, cores: number] {
    const needs = services.map((one) => this.#ledger.demandOf(one));
    return [needs.reduce((sum, one) => sum + one.memory, 0), needs.reduce((sum, one) => sum + one.cores, 0)];
  }
}
