/**
 * Progress check: after the faults no execution, and no elastic service, waits that fits on a host and into
 * the quota of its user. Judges only services that are placed one by one: a gang may be placed in many ways.
 */
import type { Bounds } from '../../../../control-plane/core/model/bounds.ts';
import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { Demand, Ledger } from './ledger.ts';

interface Capacity {
  memory: number;
  cores: number;
  labels: readonly string[];
}

/** Tolerance for binary floating-point sums. */
const ROUNDING = 1e-6;
const COUNTED = ['starting', 'running', 'cleaning up'];

export class ProgressCheck {
  readonly #ledger: Ledger;
  readonly #bounds: Bounds;

  constructor(ledger: Ledger, bounds: Bounds) {
    this.#ledger = ledger;
    this.#bounds = bounds;
  }

  stuck(): string[] {
    const { executions, services } = this.#ledger;
    const queued = [...executions.values()].filter(
      ({ status, ending, deleted }) => status === 'queued' && ending === null && deleted === 0,
    );
    // Capacity may be reserved for an execution that fits only later.
    if (queued.some((one) => !this.#mayStart(one) && this.#fitsWhenIdle(one))) return [];
    const elastic = [...services.values()].filter((one) => this.#waitsAsElastic(one));
    return [
      ...queued.filter((one) => this.#mayStart(one)).map(({ id }) => `execution ${id} waits, but fits`),
      ...elastic
        .filter((one) =>
          this.#fits(this.#ledger.executionOf(Number(one.id)), [this.#ledger.demandOf(one)], 0),
        )
        .map(({ id }) => `the elastic service ${id} waits, but fits`),
    ];
  }

  #mayStart(execution: Row): boolean {
    return (
      execution.retry_at_ms === null &&
      this.#fits(execution, this.#ledger.gangDemands(Number(execution.id)), 1)
    );
  }

  #waitsAsElastic(service: Row): boolean {
    const execution = this.#ledger.executionOf(Number(service.id));
    if (execution?.status !== 'running' || execution.ending !== null || execution.deleted !== 0) return false;
    if (service.placed === 1 || service.status !== 'inactive' || service.restart_at_ms !== null) return false;
    return service.exit === null && service.failure === null && !this.#ledger.isEssential(service);
  }

  #fits(execution: Row | undefined, demands: readonly Demand[], executions: number): boolean {
    const [demand] = demands;
    if (!execution || !demand || demands.length > 1) return false;
    const placed = [...this.#ledger.services.values()].filter((one) => one.placed === 1);
    if (placed.length >= this.#bounds.placedInstances) return false;
    if (!this.#isWithinQuota(Number(execution.user_id), placed, demand, executions)) return false;
    return this.#hosts().some(({ id, ...whole }) => {
      const here = placed.filter(({ host_id }) => host_id === id).map((one) => this.#ledger.demandOf(one));
      return holds(here.reduce(without, whole), demand);
    });
  }

  #isWithinQuota(user: number, placed: readonly Row[], demand: Demand, executions: number): boolean {
    const { users, quotas } = this.#ledger;
    const quota = quotas.get(Number(users.get(user)?.quota_id));
    const own = placed.filter(({ id }) => this.#ledger.executionOf(Number(id))?.user_id === user);
    const demands = [...own.map((one) => this.#ledger.demandOf(one)), demand];
    const counted = [...this.#ledger.executions.values()].filter(
      ({ user_id, status }) => user_id === user && COUNTED.includes(String(status)),
    );
    const used = [
      executions === 0 ? 0 : counted.length + executions,
      demands.reduce((sum, { limit }) => sum + limit, 0),
      demands.reduce((sum, { cores }) => sum + cores, 0),
    ];
    const caps = [quota?.concurrent_executions, quota?.memory, quota?.cores].map(Number);
    return caps.every((cap, at) => cap === 0 || Number(used[at]) <= cap + ROUNDING);
  }

  /** True if each service by itself would fit on some host without others. */
  #fitsWhenIdle({ id }: Row): boolean {
    const hosts = this.#hosts();
    return this.#ledger.gangDemands(Number(id)).every((demand) => hosts.some((host) => holds(host, demand)));
  }

  #hosts(): (Capacity & { id: number })[] {
    return [...this.#ledger.hosts].flatMap(([id, host]) => {
      const isUsable = host.removed_ms === null && host.lost === 0 && host.schedulable === 1;
      if (!isUsable || host.silent_since_ms !== null) return [];
      const labels = JSON.parse(String(host.labels)) as string[];
      return [{ id, memory: Number(host.memory_bytes), cores: Number(host.cores), labels }];
    });
  }
}

const without = (free: Capacity, { memory, cores }: Demand): Capacity => ({
  memory: free.memory - memory,
  cores: free.cores - cores,
  labels: free.labels,
});

const holds = (free: Capacity, { memory, cores, labels }: Demand): boolean =>
  memory <= free.memory && cores <= free.cores + ROUNDING && labels.every((one) => free.labels.includes(one));
