/**
 * Owns how long a host may be silent: until it is lost, and until what it ran may start elsewhere. Each step is counted
 * from a time that is in the host's row, in full, so that neither a restart nor one jump of a clock makes it come too
 * early. Pure.
 */

import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import { servicesLeftAt } from './drain.ts';

/** What an agent may need beyond its lease until its containers are gone: to find out, to stop them and to kill them. */
export const LEASE_MARGIN_MS = 30_000;
/** A step that is due for longer than this was slept through: nobody could have heard of the host. */
const DEADLINE_TOLERANCE_MS = 10_000;

/** When a host is lost, unless it is heard of before. */
export const lossAtMs = (
  { schedulerConfig }: Cluster,
  { silentSinceMs, lastContactMs }: Pick<Host, 'silentSinceMs' | 'lastContactMs'>,
): number => (silentSinceMs ?? lastContactMs) + schedulerConfig.lostAfterMs;

/** When what a lost host ran goes back to the queue; null where it never does. */
export function requeueAtMs(
  { schedulerConfig }: Cluster,
  { lost, leaseMs, silentSinceMs }: Host,
): number | null {
  if (!lost || schedulerConfig.hostLossPolicy !== 'requeue' || leaseMs === null || silentSinceMs === null)
    return null;
  return silentSinceMs + leaseMs + LEASE_MARGIN_MS;
}

/** The same of a host that is silent, but may not be lost yet. */
export function projectedRequeueMs(cluster: Cluster, host: Host): number | null {
  const lostMs = lossAtMs(cluster, host);
  return requeueAtMs(cluster, host.lost ? host : { ...host, lost: true, silentSinceMs: lostMs });
}

/** When the silence of the host changes something next. */
export const livenessDeadlineMs = (cluster: Cluster, host: Host): number =>
  host.lost ? (requeueAtMs(cluster, host) ?? Number.POSITIVE_INFINITY) : lossAtMs(cluster, host);

/** When nobody could hear of the host at the time when its step was due: whoever would have acted slept, or the clock was set. */
export const missedItsDeadline = (cluster: Cluster, host: Host, nowMs: number): boolean =>
  nowMs > livenessDeadlineMs(cluster, host) + DEADLINE_TOLERANCE_MS;

/** Its silence counts from now. */
export function restartTimeout(cluster: Cluster, host: Host, nowMs: number): void {
  host.silentSinceMs = nowMs;
  cluster.changes.hosts.add(host);
}

/** The first version of the protocol that knows leases. */
const LEASE_VERSION = 2;

/** The lease that an agent is told; null: none. */
export const leaseFor = ({ schedulerConfig }: Cluster, version: number): number | null =>
  schedulerConfig.hostLossPolicy === 'requeue' && version >= LEASE_VERSION
    ? schedulerConfig.lostAfterMs
    : null;

/**
 * What is sure of the lease of an agent that says hello: the longer of the one it `keeps` and the one it is `told` now,
 * as the answer may be lost; nothing, if it keeps none, until it has confirmed.
 */
export const confirmedLeaseMs = (told: number | null, keeps: number | undefined): number | null =>
  told !== null && keeps !== undefined ? Math.max(told, keeps) : null;

/** A report says that the welcome before it came. */
export function confirmLease(cluster: Cluster, host: Host, told: number | null): void {
  if (host.leaseMs === told) return;
  host.leaseMs = told;
  cluster.changes.hosts.add(host);
}

/** A host that leaves is silent since it was last heard of. */
export function markDisconnected(cluster: Cluster, host: Host): void {
  host.connected = false;
  if (!host.lost) host.silentSinceMs = host.lastContactMs;
  cluster.changes.hosts.add(host);
}

/**
 * For a coordinator that begins and has heard of no host yet: it counts on what was counted, and from now what was not.
 * Where nobody was there when a step was due, hosts get the time again.
 */
export function resumeTimeouts(cluster: Cluster, nowMs: number): void {
  for (const host of cluster.hosts.values()) {
    const { lost, silentSinceMs } = host;
    const isUncounted = silentSinceMs === null && (!lost || servicesLeftAt(cluster, host).length > 0);
    const wasSlept = silentSinceMs !== null && missedItsDeadline(cluster, host, nowMs);
    if (isUncounted || wasSlept) restartTimeout(cluster, host, nowMs);
  }
}
