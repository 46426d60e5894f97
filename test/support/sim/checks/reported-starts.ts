/** What agents have reported about the starts that they were given. */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import { keyOf } from '../../../../shared/protocol/assignment.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';

export class ReportedStarts {
  /** Failed starts, by `service.generation`. */
  readonly failed = new Set<string>();
  /** Starts that agents stopped because their lease expired, by `service.generation`. */
  readonly lapsed = new Set<string>();
  /** Starts whose container was reported as gone, by host and `service.generation`, like the next two. */
  readonly #gone = new Set<string>();
  /** Starts whose container was reported. */
  readonly #seen = new Set<string>();
  /** The latest start of each service that a hello has listed. */
  readonly #listed = new Map<number, number>();
  /** Starts that were missing from a later hello. */
  readonly #missing = new Set<string>();

  sent(one: Observation): void {
    if (one.state === 'failed') this.failed.add(keyOf(one));
    if (isLapsed(one)) this.lapsed.add(keyOf(one));
  }

  arrived(hostId: number, observations: readonly Observation[]): void {
    for (const one of observations) {
      const key = `host ${hostId}: ${keyOf(one)}`;
      if (one.state === 'gone') this.#gone.add(key);
      if (!WITH_CONTAINER.has(one.state)) continue;
      this.#seen.add(key);
      this.#missing.delete(key);
    }
  }

  /** A hello has arrived, with every container of a host whose services have these rows. */
  greeted(hostId: number, inventory: readonly Observation[], rows: readonly Row[]): void {
    this.arrived(hostId, inventory);
    this.listed(inventory);
    const present = new Set(inventory.map((one) => `host ${hostId}: ${keyOf(one)}`));
    for (const key of rows.map(startOf)) if (!present.has(key)) this.#missing.add(key);
  }

  /** A hello has listed these, true or not. */
  listed(inventory: readonly Observation[]): void {
    for (const { service, generation } of inventory)
      this.#listed.set(service, Math.max(generation, this.latestListed(service)));
  }

  /** The latest start of a service that a hello has listed; 0: none. */
  latestListed(service: number): number {
    return this.#listed.get(service) ?? 0;
  }

  /** True if messages of its host have shown that the container of the service is gone. */
  isGone(row: Row): boolean {
    const key = startOf(row);
    // A start that its agent has not reported may be on its way to it.
    const wasThere = this.#seen.has(key) || row.status === 'terminating';
    return this.#gone.has(key) || (wasThere && this.#missing.has(key));
  }
}

const WITH_CONTAINER: ReadonlySet<Observation['state']> = new Set(['created', 'running', 'exited']);
const startOf = ({ id, generation, host_id }: Row): string => `host ${host_id}: ${id}.${generation}`;

export const isLapsed = (one: Observation): boolean => one.state === 'gone' && one.lapsed === true;
