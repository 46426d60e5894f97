/** What agents have reported about the starts that they were given, and whether they may (P12). */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import { keyOf, type ServiceKey } from '../../../../shared/protocol/assignment.ts';
import type { Health } from '../../../../shared/protocol/health.ts';
import type { Observation, Report } from '../../../../shared/protocol/up.ts';
import type { Link } from '../world/network.ts';
import type { World } from '../world/time.ts';
import type { Ledger } from './ledger.ts';

export class ReportedStarts {
  /** Failed starts, by `service.generation`. */
  readonly failed = new Set<string>();
  /** Starts that agents stopped because their lease expired, by `service.generation`. */
  readonly lapsed = new Set<string>();
  /** Starts that agents with leases gave up because their lease expired, by host and `service.generation`. */
  readonly #givenUp = new Map<number, Set<string>>();
  /** Starts whose container was reported as gone, by host and `service.generation`, like the next two. */
  readonly #gone = new Set<string>();
  /** Starts whose container was reported. */
  readonly #seen = new Set<string>();
  /** Starts with each health that was reported of them. */
  readonly #health = new Set<string>();
  /** The latest start of each service that a hello has listed. */
  readonly #listed = new Map<number, number>();
  /** Starts that were missing from a later hello. */
  readonly #missing = new Set<string>();
  /** Starts that were missing from any hello. */
  readonly #everMissing = new Set<string>();

  sent(one: Observation): void {
    if (one.state === 'failed') this.failed.add(keyOf(one));
    if (isLapsed(one)) this.lapsed.add(keyOf(one));
  }

  /** An agent gives up this start, and has a mark of it. */
  givenUp(hostId: number, key: ServiceKey): void {
    const known = this.#givenUp.get(hostId) ?? new Set();
    this.#givenUp.set(hostId, known.add(keyOf(key)));
  }

  /** An agent without leases, or without the marks of the earlier one, reports for the host from now on. */
  leasesUnknown(hostId: number): void {
    this.#givenUp.delete(hostId);
  }

  isGivenUp({ id, generation, host_id }: Row): boolean {
    return this.#givenUp.get(Number(host_id))?.has(`${id}.${generation}`) === true;
  }

  arrived(hostId: number, observations: readonly Observation[]): void {
    for (const one of observations) {
      const key = `host ${hostId}: ${keyOf(one)}`;
      if (one.state === 'gone') this.#gone.add(key);
      if (one.state === 'running' && one.health) this.#health.add(`${key} ${one.health.state}`);
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
    for (const key of rows.map(startOf)) {
      if (present.has(key)) continue;
      this.#missing.add(key);
      this.#everMissing.add(key);
    }
  }

  /** A hello has listed these, true or not. */
  listed(inventory: readonly Observation[]): void {
    for (const { service, generation } of inventory)
      this.#listed.set(service, Math.max(generation, this.latestListed(service)));
  }

  /** True if its host has ever reported this health of the start. */
  hadHealth(row: Row, state: Health['state']): boolean {
    return this.#health.has(`${startOf(row)} ${state}`);
  }

  /** The latest start of a service that a hello has listed; 0: none. */
  latestListed(service: number): number {
    return this.#listed.get(service) ?? 0;
  }

  /** True if messages of its host have shown that the container of the service is gone. */
  isGone(row: Row): boolean {
    return this.#isGone(row, this.#missing);
  }

  /** True also if a later report has the container: the hello before it may be processed only now. */
  mayBeGone(row: Row): boolean {
    return this.#isGone(row, this.#everMissing);
  }

  #isGone(row: Row, missing: ReadonlySet<string>): boolean {
    const key = startOf(row);
    // A start that its agent has not reported may be on its way to it.
    const wasThere = this.#seen.has(key) || row.status === 'terminating';
    return this.#gone.has(key) || (wasThere && missing.has(key));
  }
}

const WITH_CONTAINER: ReadonlySet<Observation['state']> = new Set(['created', 'running', 'exited']);
const startOf = ({ id, generation, host_id }: Row): string => `host ${host_id}: ${id}.${generation}`;

export const isLapsed = (one: Observation): boolean => one.state === 'gone' && one.lapsed === true;

/**
 * Demands that an acknowledged report names no start that was given to another host. `listed` has the keys of
 * the hello. A start that is reported as gone may have been given by a database that was restored.
 */
export function assertAuthorised(
  world: World,
  ledger: Ledger,
  { name, hostId }: Link,
  listed: ReadonlySet<string>,
  { observations }: Report,
): void {
  for (const one of observations) {
    const row = ledger.services.get(one.service);
    const isElsewhere = row && row.host_id !== hostId && row.status !== 'inactive';
    if (!isElsewhere || row.generation !== one.generation || one.state === 'gone') continue;
    if (!listed.has(keyOf(one)))
      world.violate(
        `${name}: ${one.state} of ${keyOf(one)} is acknowledged, which is on host ${row.host_id}`,
      );
  }
}
