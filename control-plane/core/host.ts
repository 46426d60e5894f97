/** Owns what a host is and when it may take services. Pure. */

export interface Host {
  readonly id: number;
  readonly name: string;
  address: string;
  labels: readonly string[];
  memoryBytes: number;
  cores: number;
  /** False while an administrator drains it. */
  schedulable: boolean;
  agentVersion: string;
  engineVersion: string;
  lastContactMs: number;
  /** Whether an agent is connected now; known to memory only. */
  connected: boolean;
  /** No contact for longer than the loss time; cleared by the next hello. */
  lost: boolean;
  /** Sums of the requirements of the services placed here; derived, never stored. */
  reservedMemoryBytes: number;
  reservedCores: number;
  /** The part of these that elastic services have. */
  elasticMemoryBytes: number;
  elasticCores: number;
  /** Kept for the execution that has waited longest; derived, never stored. */
  keptMemoryBytes: number;
  keptCores: number;
}

/** Of a host where nothing is placed. */
export const unreserved = {
  reservedMemoryBytes: 0,
  reservedCores: 0,
  elasticMemoryBytes: 0,
  elasticCores: 0,
  keptMemoryBytes: 0,
  keptCores: 0,
};

/** Whether its agent can be told anything. */
export const isReachable = ({ connected, lost }: Pick<Host, 'connected' | 'lost'>): boolean =>
  connected && !lost;

/** An agent sends a sign of life this often: nine times, at least, before its silence makes its host lost. */
export const reportPeriodMs = (lostAfterMs: number): number => Math.min(10_000, Math.floor(lostAfterMs / 9));

/** A host that says hello for the first time; its facts follow (observe.ts). */
export const newHost = (id: number, name: string, nowMs: number): Host => ({
  id,
  name,
  address: '',
  labels: [],
  memoryBytes: 0,
  cores: 0,
  schedulable: true,
  agentVersion: '',
  engineVersion: '',
  lastContactMs: nowMs,
  connected: false,
  lost: false,
  ...unreserved,
});
