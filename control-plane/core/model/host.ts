/** Owns what a host is and when it may take services. Pure. */
import { conditionKinds } from '../../../shared/protocol/conditions.ts';
import type { Condition, HostUsage } from '../../../shared/protocol/up.ts';

export interface Host {
  readonly id: number;
  readonly name: string;
  /** The public half of its agent's key (base64url); null for a host of an earlier release that has not joined again. */
  publicKey: string | null;
  address: string;
  /** Those of its agent and those of the administrator: what services are placed by. */
  labels: readonly string[];
  /** As its agent reports them. */
  agentLabels: readonly string[];
  /** As an administrator gave them; kept whatever the agent reports. */
  adminLabels: readonly string[];
  memoryBytes: number;
  cores: number;
  /** False while an administrator drains it. */
  schedulable: boolean;
  agentVersion: string;
  engineVersion: string;
  /** Its silence counts from here: from its last contact, or from when this coordinator began. */
  lastContactMs: number;
  /** When anything was last heard of it. In its row as of its last hello or end of connection. */
  heardMs: number;
  /** Whether an agent is connected now; known to memory only. */
  connected: boolean;
  /** No contact for longer than the loss time; cleared by the next hello. */
  lost: boolean;
  /** Since when its silence is counted: it is not connected, or lost. Null while it is connected, and when nothing is left to count for. */
  silentSinceMs: number | null;
  /** After this long without contact its agent stops all it runs, as it has confirmed; null: it never does. */
  leaseMs: number | null;
  /** What its agent says is wrong with it; known to memory only. */
  conditions: readonly Condition[];
  /** What its containers really use, where its agent has told; known to memory only. */
  usage: HostUsage | null;
  /** Sums of the requirements of the services placed here; derived, never stored. */
  reservedMemoryBytes: number;
  reservedCores: number;
  /** The part of these that elastic services have. */
  elasticMemoryBytes: number;
  elasticCores: number;
  /** Kept for the execution that has waited longest; derived, never stored. */
  backfillReservedMemoryBytes: number;
  backfillReservedCores: number;
}

/** Of a host where nothing is placed. */
export const unreserved = {
  reservedMemoryBytes: 0,
  reservedCores: 0,
  elasticMemoryBytes: 0,
  elasticCores: 0,
  backfillReservedMemoryBytes: 0,
  backfillReservedCores: 0,
};

/** Takes in what its agent or an administrator says of its labels. */
export function setLabels(host: Host, { agentLabels, adminLabels }: Partial<Labels>): void {
  host.agentLabels = agentLabels ?? host.agentLabels;
  host.adminLabels = adminLabels ? [...new Set(adminLabels)] : host.adminLabels;
  host.labels = allLabels(host);
}

type Labels = Pick<Host, 'agentLabels' | 'adminLabels'>;

export const allLabels = ({ agentLabels, adminLabels }: Labels): readonly string[] => [
  ...new Set([...agentLabels, ...adminLabels]),
];

/** Whether its agent can be told anything. */
export const isReachable = ({ connected, lost }: Pick<Host, 'connected' | 'lost'>): boolean =>
  connected && !lost;

/** Kinds of conditions that block new services, each with what its host is called in explanations. */
export const blockingConditions: ReadonlyMap<string, string> = new Map(
  Object.entries(conditionKinds).flatMap(([kind, { blocks }]) => (blocks === null ? [] : [[kind, blocks]])),
);

/** The condition for which it takes nothing new, where it has one: what runs would suffer, and what starts fail. */
export const blockingConditionOf = ({ conditions }: Pick<Host, 'conditions'>): Condition | undefined =>
  conditions.find(({ kind }) => blockingConditions.has(kind));

/** Of a host whose agent has not said anything yet. */
export const unknownFacts = { connected: false, conditions: [], usage: null };

/** An agent sends a sign of life this often: nine times, at least, before its silence makes its host lost. */
export const reportPeriodMs = (lostAfterMs: number): number => Math.min(10_000, Math.floor(lostAfterMs / 9));

/** Of the work that a control plane has with one agent that comes back. */
const RETURN_MS = 30;

/** Over how long so many agents come back, so that clients are answered meanwhile: short for few, and no long silence for any. */
export const spreadMs = (hosts: number, lostAfterMs: number): number =>
  Math.min(RETURN_MS * hosts, reportPeriodMs(lostAfterMs));

/** A host that has just been registered; its facts follow with its first hello (observe.ts). */
export const newHost = (id: number, name: string, nowMs: number): Host => ({
  id,
  name,
  publicKey: null,
  address: '',
  labels: [],
  agentLabels: [],
  adminLabels: [],
  memoryBytes: 0,
  cores: 0,
  schedulable: true,
  agentVersion: '',
  engineVersion: '',
  lastContactMs: nowMs,
  heardMs: nowMs,
  lost: false,
  silentSinceMs: null,
  leaseMs: null,
  ...unknownFacts,
  ...unreserved,
});
