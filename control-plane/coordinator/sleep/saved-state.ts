/**
 * What a coordinator that sleeps leaves to itself: what it has in memory, agents and executions rely on, and
 * the database does not have (C232). Each name stands for what it does in the module that owns it.
 */
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import type { Host } from '../../core/model/host.ts';
import type { SavedReservation } from '../../core/scheduling/backfill-reservation.ts';
import type { Holding } from '../../store/db/epoch.ts';

export interface SavedState extends SavedCoordinator, SavedLinks {
  /** Proofs that were used and have not expired. */
  proofs: VerifiedProof[];
}

/** How the coordinator goes on with its state, which it reads again. */
export interface SavedCoordinator {
  holding: Holding;
  reservation: SavedReservation | null;
}

/** The connections at gateways. */
export interface SavedLinks {
  incarnation: string;
  /** Number of connections that were ever admitted. */
  admitted: number;
  connections: SavedConnection[];
}

export interface SavedConnection {
  id: string;
  gateway: number;
  /** Entries that have arrived from the gateway. */
  received: number;
  /** Entries that were sent to it. */
  sent: number;
  session: SavedSession;
}

export interface SessionState {
  revision: number;
  /** The core shares that were sent last, as text. */
  coreShares: string | undefined;
  /** Keys of the services in the inventory of its hello. */
  listed: string[];
  address?: string | undefined;
}

export interface SavedSession extends SessionState {
  hostId: number;
  /** What its agent has reported, and when it was last heard. */
  reported: Reported;
}

const REPORTED = ['conditions', 'usage', 'swarm', 'pending', 'lastContactMs', 'heardMs'] as const;
export type Reported = Pick<Host, (typeof REPORTED)[number]>;

export const reportedBy = (host: Host): Reported =>
  Object.fromEntries(REPORTED.map((field) => [field, host[field]])) as unknown as Reported;
