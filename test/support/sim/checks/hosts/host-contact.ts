/**
 * Check of contact: a host counts as connected when it is welcomed, and is not lost while its reports are
 * acknowledged or its pulses answered (C17, C105, P180).
 */
import type { Report } from '../../../../../shared/protocol/up.ts';
import type { Link } from '../../world/network.ts';
import type { Change } from '../../world/store.ts';
import type { World } from '../../world/time.ts';
import { Check } from '../check.ts';
import type { Ledger } from '../ledger.ts';

const ROUNDING_MS = 2;

interface Contact {
  link: Link;
  timeMs: number;
}

export class HostContactCheck extends Check {
  readonly #lostAfterMs: number;
  readonly #mayMiscount: (sinceMs: number) => boolean;
  readonly #arrivals = new WeakMap<Report, Contact>();
  /** The last acknowledged report of each host. */
  readonly #contacts = new Map<number, Contact>();

  /** `mayMiscount`: whether a clock was set since then, and nothing measured by how much. */
  constructor(world: World, ledger: Ledger, lostAfterMs: number, mayMiscount: (sinceMs: number) => boolean) {
    super(world, ledger);
    this.#lostAfterMs = lostAfterMs;
    this.#mayMiscount = mayMiscount;
  }

  /**
   * With two control planes the row may be that of the other one. From here on the pulses of this connection
   * count, and no longer those of the one before, which the gateway may still hold.
   */
  welcomed(link: Link): void {
    const { name, hostId, hasRival } = link;
    const contact = this.#contacts.get(hostId);
    if (contact) this.#contacts.set(hostId, { ...contact, link });
    const host = this.ledger.hosts.get(hostId);
    if (hasRival || !host || host.removed_ms !== null) return;
    if (host.lost === 1 || host.silent_since_ms !== null)
      this.violate(`${name}: host ${hostId} is welcomed, but counts as silent or lost`);
  }

  arrived(link: Link, report: Report): void {
    this.#arrivals.set(report, { link, timeMs: this.world.nowMs });
  }

  /** A pulse counts for a welcomed agent, unless the control plane has lost its connection. */
  pulsed(link: Link): void {
    const { hostId } = link;
    const isSilent = this.ledger.hosts.get(hostId)?.silent_since_ms !== null;
    if (this.#contacts.get(hostId)?.link === link && !isSilent)
      this.#contacts.set(link.hostId, { link, timeMs: this.world.nowMs });
  }

  /** The contact of a report is at its turn, which began after it had arrived. */
  acknowledged({ hostId }: Link, report: Report): void {
    const arrival = this.#arrivals.get(report);
    if (arrival) this.#contacts.set(hostId, arrival);
  }

  /** Checks a change. The ledger must not contain it yet. */
  check({ table, id, row }: Change): void {
    if (table === 'hosts' && row?.lost === 1 && this.ledger.hosts.get(id)?.lost === 0) this.#lost(id);
  }

  /** The last contact must be long ago (C332). */
  #lost(hostId: number): void {
    const contact = this.#contacts.get(hostId);
    if (!contact) return;
    const { link, timeMs } = contact;
    if (!link.server.process.alive || link.hasRival || this.#mayMiscount(timeMs)) return;
    const silentMs = Math.ceil(this.world.nowMs - timeMs);
    if (silentMs + ROUNDING_MS < this.#lostAfterMs)
      this.violate(`host ${hostId} is lost, and had its last contact ${silentMs} ms ago`);
  }
}
