/** Ledger: the committed rows as the checks see them, and the descriptions of the executions. */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { Application } from '../../../../shared/application-schema.ts';
import { DEFAULT_MEMORY } from '../plane/initial-state.ts';
import type { Change } from '../world/store.ts';

/** What a service demands, by its group. */
export interface Demand {
  /** Reserved on the host. */
  memory: number;
  /** Counts under the quota. */
  limit: number;
  cores: number;
  essential: number;
  monitor: boolean;
  labels: readonly string[];
  isChecked: boolean;
  restart: { attempts: number; windowMs: number; delayMs: number } | null;
}

export class Ledger {
  readonly executions = new Map<number, Row>();
  readonly services = new Map<number, Row>();
  readonly hosts = new Map<number, Row>();
  readonly quotas = new Map<number, Row>();
  readonly users = new Map<number, Row>();
  /** One row: the holder of the epoch. */
  readonly coordinator = new Map<number, Row>();
  /** The latest start of each monitor service that has exited. */
  readonly exits = new Map<number, number>();
  /** Ids of services, by execution. */
  readonly #servicesOf = new Map<number, Set<number>>();
  readonly #needs = new Map<number, Map<string, Demand>>();

  apply({ table, id, row }: Change): void {
    if (table === 'audit') return;
    const rows = this.#table(table);
    if (table === 'executions' && row && !rows.has(id)) this.#readDemands(id, String(row.description));
    if (table === 'services') this.#index(id, row ?? rows.get(id));
    if (table === 'services' && row && (row.exit ?? null) !== null && this.demandOf(row).monitor)
      this.exits.set(id, Number(row.generation));
    if (row) rows.set(id, row);
    // A removed host stays removed when its row goes.
    else if (table !== 'hosts') rows.delete(id);
  }

  /** True also for a host that never existed. */
  isRemoved(hostId: number): boolean {
    return this.hosts.get(hostId)?.removed_ms !== null;
  }

  /** A service of an execution that waits has an id, and no row. */
  executionOf(service: number): Row | undefined {
    const row = this.services.get(service);
    if (row) return this.executions.get(Number(row.execution_id));
    return [...this.executions.values()].find(({ first_service_id, service_count }) => {
      const at = service - Number(first_service_id);
      return at >= 0 && at < Number(service_count);
    });
  }

  servicesOf(execution: number): Row[] {
    const ids = [...(this.#servicesOf.get(execution) ?? [])];
    return ids.map((id) => this.services.get(id)).filter((row) => row !== undefined);
  }

  /** Those that were last placed on the host. */
  servicesAt(host: number): Row[] {
    return [...this.services.values()].filter(({ host_id }) => host_id === host);
  }

  demandOf(service: Row): Demand {
    const needs = this.#needs.get(Number(service.execution_id))?.get(String(service.service_group));
    if (!needs) throw new Error(`service ${service.id} has no description`);
    return needs;
  }

  /** What the essential services of an execution demand, which may have no rows yet. */
  gangDemands(execution: number): Demand[] {
    return [...(this.#needs.get(execution)?.values() ?? [])].flatMap((demand) =>
      Array.from({ length: demand.essential }, () => demand),
    );
  }

  /** The first instances of a group are the essential ones. */
  isEssential(service: Row): boolean {
    const at = Number(String(service.name).slice(String(service.service_group).length));
    return at < this.demandOf(service).essential;
  }

  #table(name: string): Map<number, Row> {
    const tables: Record<string, Map<number, Row>> = {
      executions: this.executions,
      services: this.services,
      hosts: this.hosts,
      quotas: this.quotas,
      users: this.users,
      coordinator: this.coordinator,
    };
    const rows = tables[name];
    if (!rows) throw new Error(`the ledger does not track the table ${name}`);
    return rows;
  }

  #index(id: number, row: Row | undefined): void {
    const execution = Number(row?.execution_id);
    const known = this.#servicesOf.get(execution) ?? new Set();
    this.#servicesOf.set(execution, known.add(id));
  }

  #readDemands(id: number, description: string): void {
    const { services } = JSON.parse(description) as Application;
    const needs = services.map(
      ({ name, monitor, essential_count: essential, resources, labels = [], health, restart }) => {
        const { memory, cores } = resources;
        return [
          name,
          {
            memory: memory.min ?? 0,
            // No minimum of a simulation is large enough to be a limit.
            limit: memory.max || DEFAULT_MEMORY,
            cores: cores.min ?? 0.1,
            essential,
            monitor,
            labels,
            isChecked: health !== undefined,
            restart: restart
              ? {
                  attempts: restart.attempts,
                  windowMs: 1_000 * (restart.window ?? 600),
                  delayMs: 1_000 * (restart.delay ?? 0),
                }
              : null,
          },
        ] as const;
      },
    );
    this.#needs.set(id, new Map(needs));
  }
}

export const isEnded = (execution: Row | undefined): boolean =>
  execution?.status === 'terminated' || execution?.status === 'error';

export const isLive = (service: Row): boolean => service.status === 'starting' || service.status === 'active';
