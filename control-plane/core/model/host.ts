/** Hosts: fields, labels, and when a host may accept services. Pure. */
import { conditionKinds } from '../../../shared/protocol/conditions.ts';
import type { Swarm } from '../../../shared/protocol/swarm.ts';
import type { Condition, HostUsage } from '../../../shared/protocol/up.ts';

export interface Host {
  readonly id: number;
  readonly name: string;
  /**
   * The public half of its agent's key (base64url). Null for a host of an earlier release that has not joined
   * again.
   */
  publicKey: string | null;
  address: string;
  /** The labels of its agent and those of the administrator together; placement uses these. */
  labels: readonly string[];
  /** What an agent may offer without an administrator (hosts/agreement.ts). Null until its first hello. */
  agreed: HostOffer | null;
  /** An offer beyond that; in memory only. */
  pending: HostOffer | null;
  /** As the agent reports them, as far as they are agreed. */
  agentLabels: readonly string[];
  /** Set by an administrator; the agent's reports do not change them. */
  adminLabels: readonly string[];
  memoryBytes: number;
  cores: number;
  /** False while the host is drained. */
  schedulable: boolean;
  agentVersion: string;
  engineVersion: string;
  /** Id of the engine with its containers (P318). Null until its agent has stated one. */
  engineId: string | null;
  /** Silence is measured from here: the last contact, or the start of this coordinator. */
  lastContactMs: number;
  /** When the last message arrived. The row holds its value as of the last hello or disconnection. */
  heardMs: number;
  /** Whether an agent is connected now; in memory only. */
  connected: boolean;
  /** Whether a gateway measures its silence (P180); in memory only. */
  isWatched: boolean;
  /** No contact for longer than `lostAfterMs`; the next hello clears it. */
  lost: boolean;
  /**
   * Start of the silence of a host that is not connected, or lost. Null while the host is connected, and when
   * no timeout is left to run.
   */
  silentSinceMs: number | null;
  /**
   * The confirmed lease: after this long without contact the agent stops all its containers. Null: it never
   * does.
   */
  leaseMs: number | null;
  /** Conditions that its agent reports; in memory only. */
  conditions: readonly Condition[];
  /** Actual usage of its containers, if the agent has reported it; in memory only. */
  usage: HostUsage | null;
  /** The swarm that its engine is in, if its agent joins overlay networks; in memory only. */
  swarm: Swarm | null;
  /** Sums over the services placed here; derived, never stored. */
  reservedMemoryBytes: number;
  reservedCores: number;
  /** The part of these sums that belongs to elastic services. */
  elasticMemoryBytes: number;
  elasticCores: number;
  /** Capacity of the backfill reservation; derived, never stored. */
  backfillReservedMemoryBytes: number;
  backfillReservedCores: number;
}

/** The labels of the agent, and the size of the host. */
export interface HostOffer {
  labels: readonly string[];
  memoryBytes: number;
  cores: number;
}

/** The sums of a host without services. */
export const unreserved = {
  reservedMemoryBytes: 0,
  reservedCores: 0,
  elasticMemoryBytes: 0,
  elasticCores: 0,
  backfillReservedMemoryBytes: 0,
  backfillReservedCores: 0,
};

/** Updates the labels of the agent, of the administrator, or both. */
export function setLabels(host: Host, { agentLabels, adminLabels }: Partial<Labels>): void {
  host.agentLabels = agentLabels ?? host.agentLabels;
  host.adminLabels = adminLabels ? [...new Set(adminLabels)] : host.adminLabels;
  host.labels = allLabels(host);
}

type Labels = Pick<Host, 'agentLabels' | 'adminLabels'>;

export const allLabels = ({ agentLabels, adminLabels }: Labels): readonly string[] => [
  ...new Set([...agentLabels, ...adminLabels]),
];

/** Whether commands can be sent to its agent. */
export const isReachable = ({ connected, lost }: Pick<Host, 'connected' | 'lost'>): boolean =>
  connected && !lost;

/** Kinds of conditions that block new services, each with the words that describe such a host. */
export const blockingConditions: ReadonlyMap<string, string> = new Map(
  Object.entries(conditionKinds).flatMap(([kind, { blocks }]) => (blocks === null ? [] : [[kind, blocks]])),
);

/**
 * The first condition for which the host takes no new services, if any: running services would suffer, and
 * starts would fail.
 */
export const blockingConditionOf = ({ conditions }: Pick<Host, 'conditions'>): Condition | undefined =>
  conditions.find(({ kind }) => blockingConditions.has(kind));

/** The facts of a host whose agent has not reported yet. */
export const unknownFacts = {
  connected: false,
  isWatched: false,
  conditions: [],
  usage: null,
  swarm: null,
  pending: null,
};

/**
 * Period of an agent's reports: at least nine fall into the time after which its silence makes the host lost.
 */
export const reportPeriodMs = (lostAfterMs: number): number => Math.min(10_000, Math.floor(lostAfterMs / 9));

/** For so long, signs of life may wait for others that take the same way (P177). */
export const holdMs = (lostAfterMs: number): number => Math.floor(reportPeriodMs(lostAfterMs) / 5);

/** The control plane's work for one agent that reconnects. */
const RETURN_MS = 30;

/**
 * The period over which this many agents reconnect, so that clients are answered meanwhile. It is short for
 * few agents, and no longer than a report period.
 */
export const spreadMs = (hosts: number, lostAfterMs: number): number =>
  Math.min(RETURN_MS * hosts, reportPeriodMs(lostAfterMs));

/**
 * A host that has just been registered. The other facts arrive with its first hello
 * (lifecycle/observations.ts).
 */
export const newHost = (id: number, name: string, nowMs: number): Host => ({
  id,
  name,
  publicKey: null,
  address: '',
  labels: [],
  agreed: null,
  agentLabels: [],
  adminLabels: [],
  memoryBytes: 0,
  cores: 0,
  schedulable: true,
  agentVersion: '',
  engineVersion: '',
  engineId: null,
  lastContactMs: nowMs,
  heardMs: nowMs,
  lost: false,
  // Recorded, since a coordinator that does not know of it would begin the silence anew.
  silentSinceMs: nowMs,
  leaseMs: null,
  ...unknownFacts,
  ...unreserved,
});
