/** Lease check: the row of a host has a lease if, and only if, its agent has confirmed one (C104). */
import type { Link } from '../../world/network.ts';
import { Check } from '../check.ts';

export class LeaseCheck extends Check {
  /**
   * By host: the connection that was welcomed last, and those with a hello that arrived later. Value: whether
   * the agent keeps a lease.
   */
  readonly #greeted = new Map<number, Map<Link, boolean>>();
  /** The lease of each welcome. */
  readonly #granted = new WeakMap<Link, number | undefined>();

  /** `keeps`: by the hello. A second one of a connection is refused. */
  greeted(link: Link, keeps: boolean): void {
    const greeted = this.#greetedAt(link.hostId);
    if (!greeted.has(link)) greeted.set(link, keeps);
  }

  /** An agent that reports has received its welcome. */
  reported(link: Link): void {
    const greeted = this.#greetedAt(link.hostId);
    if (greeted.has(link) && this.#granted.get(link) !== undefined) greeted.set(link, true);
  }

  /** A welcome supersedes every hello that arrived before that of its connection. */
  welcomed(link: Link, leaseMs: number | undefined): void {
    this.#granted.set(link, leaseMs);
    const greeted = this.#greetedAt(link.hostId);
    for (const one of [...greeted.keys()]) {
      if (one === link) break;
      greeted.delete(one);
    }
    this.hostChanged(link.hostId, this.ledger.hosts.get(link.hostId)?.lease_ms);
  }

  /**
   * Checks a committed row of a host. A lease is recorded only if the agent that was welcomed last, or one
   * whose hello has arrived since, keeps leases.
   */
  hostChanged(id: number, leaseMs: unknown): void {
    const greeted = this.#greeted.get(id);
    if ((leaseMs ?? null) === null || !greeted || [...greeted.values()].includes(true)) return;
    this.violate(`host ${id} has a lease of ${leaseMs} ms, but its agent keeps none`);
  }

  /** A report after the welcome confirms its lease. Another control plane may have changed the row since. */
  acknowledged(link: Link): void {
    const host = this.ledger.hosts.get(link.hostId);
    const granted = this.#granted.get(link) ?? null;
    const isLatest = [...this.#greetedAt(link.hostId).keys()].at(-1) === link;
    if (!isLatest || link.hasRival || !host || host.removed_ms !== null) return;
    if (host.lease_ms !== granted)
      this.violate(
        `${link.name}: a report is acknowledged, but host ${link.hostId} has the lease ${host.lease_ms}, not ${granted}`,
      );
  }

  #greetedAt(hostId: number): Map<Link, boolean> {
    const greeted = this.#greeted.get(hostId) ?? new Map<Link, boolean>();
    this.#greeted.set(hostId, greeted);
    return greeted;
  }
}
