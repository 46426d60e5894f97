/**
 * Host liveness: when a silent host is marked lost, and when its services may be restarted elsewhere. Both
 * timeouts start from a persisted timestamp, so neither a restart nor a single clock jump can shorten them
 * (HOST-6, HOST-7). Pure.
 */

import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import { servicesLeftAt } from './drain.ts';

/**
 * The time that an agent may need after its lease expires to notice that, and to stop or kill its containers.
 */
export const LEASE_MARGIN_MS = 30_000;
/** If a deadline passed longer ago than this, no coordinator could hear from the host at that time. */
const DEADLINE_TOLERANCE_MS = 10_000;

/** When the host is marked lost, unless its agent makes contact before. */
export const lossAtMs = (
  { schedulerConfig }: Cluster,
  { silentSinceMs, lastContactMs }: Pick<Host, 'silentSinceMs' | 'lastContactMs'>,
): number => (silentSinceMs ?? lastContactMs) + schedulerConfig.lostAfterMs;

/** When the executions of a lost host return to the queue; null if they never do. */
export function requeueAtMs(
  { schedulerConfig }: Cluster,
  { lost, leaseMs, silentSinceMs }: Host,
): number | null {
  if (!lost || schedulerConfig.hostLossPolicy !== 'requeue' || leaseMs === null || silentSinceMs === null)
    return null;
  return silentSinceMs + leaseMs + LEASE_MARGIN_MS;
}

/** The same time for a host that is silent but perhaps not marked lost yet. */
export function projectedRequeueMs(cluster: Cluster, host: Host): number | null {
  const lostMs = lossAtMs(cluster, host);
  return requeueAtMs(cluster, host.lost ? host : { ...host, lost: true, silentSinceMs: lostMs });
}

/**
 * The next time at which the silence of the host changes something. A gateway tells of that of a watched one.
 */
export function livenessDeadlineMs(cluster: Cluster, host: Host): number {
  if (host.lost) return requeueAtMs(cluster, host) ?? Number.POSITIVE_INFINITY;
  return host.connected && host.isWatched ? Number.POSITIVE_INFINITY : lossAtMs(cluster, host);
}

/**
 * Whether no coordinator could hear from the host when its deadline passed: none was running, or the clock
 * was set forward.
 */
export const missedItsDeadline = (cluster: Cluster, host: Host, nowMs: number): boolean =>
  nowMs > livenessDeadlineMs(cluster, host) + DEADLINE_TOLERANCE_MS;

/** Restarts the silence of the host now. */
export function restartTimeout(cluster: Cluster, host: Host, nowMs: number): void {
  host.silentSinceMs = nowMs;
  cluster.changes.hosts.add(host);
}

/** The lease that the coordinator grants to an agent; null means no lease. */
export const leaseFor = ({ schedulerConfig }: Cluster): number | null =>
  schedulerConfig.hostLossPolicy === 'requeue' ? schedulerConfig.lostAfterMs : null;

/**
 * The lease that is certain when an agent sends its hello. The answer may be lost, so that is the longer of
 * the lease that the agent `keeps` and the one that is `granted` now. If the agent keeps none, nothing is
 * certain until a report confirms the lease (C104).
 */
export const confirmedLeaseMs = (granted: number | null, keeps: number | undefined): number | null =>
  granted !== null && keeps !== undefined ? Math.max(granted, keeps) : null;

/** A report confirms the lease of the welcome before it. */
export function confirmLease(cluster: Cluster, host: Host, leaseMs: number | null): void {
  if (host.leaseMs === leaseMs) return;
  host.leaseMs = leaseMs;
  cluster.changes.hosts.add(host);
}

/** Its agent has been silent for that long, as its gateway has measured. */
export function noteSilence(host: Host, silentMs: number, nowMs: number): void {
  host.lastContactMs = Math.max(host.lastContactMs, nowMs - silentMs);
  host.heardMs = host.lastContactMs;
}

/**
 * The silence of a disconnected host counts from its last contact. If the state was read anew since, the
 * silence counts from then (`resumeTimeouts`).
 */
export function markDisconnected(cluster: Cluster, host: Host): void {
  if (!host.connected) return;
  host.connected = false;
  host.isWatched = false;
  if (!host.lost) host.silentSinceMs = host.lastContactMs;
  cluster.changes.hosts.add(host);
}

/**
 * For a new coordinator, which has not heard from any host yet but those of the sessions that it resumes
 * (C232). Recorded silence continues, and silence that was not recorded starts now. If a deadline passed
 * while no coordinator ran, that timeout starts again (C105). Silence that `another` clock may have recorded
 * starts again as well: the times of two clocks are not compared (C257).
 */
export function resumeTimeouts(cluster: Cluster, nowMs: number, clock: 'same' | 'another' = 'same'): void {
  for (const host of cluster.hosts.values()) {
    const { lost, silentSinceMs } = host;
    if (host.connected) continue;
    const isUnrecorded = silentSinceMs === null && (!lost || servicesLeftAt(cluster, host).length > 0);
    const isMeaningless =
      silentSinceMs !== null && (clock === 'another' || missedItsDeadline(cluster, host, nowMs));
    if (isUnrecorded || isMeaningless) restartTimeout(cluster, host, nowMs);
  }
}
