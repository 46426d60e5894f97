/** The welcome of a host whose hello was accepted, and the log lines about it. */
import type { Observation } from '../../../shared/protocol/up.ts';
import { offerText } from '../../core/hosts/agreement.ts';
import { duplicateStarts } from '../../core/hosts/report-authorisation.ts';
import { unknownIn } from '../../core/lifecycle/restored-database.ts';
import { type Host, reportPeriodMs, spreadMs } from '../../core/model/host.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Logger } from '../ports.ts';
import type { AgentSession, Welcome } from './agent-session.ts';

/** What agents do with containers whose services are not in the database (P30). */
export type UnknownContainers = 'keep' | 'remove';

/** Services that a line names; it has the number of all. */
const MAX_NAMED = 20;

/**
 * Whether the agent sends pulses, which its gateway watches (P179, P180). Only a report renews a lease, so an
 * agent with a lease reports.
 */
export const isWatched = ({ peer, leaseMs }: Pick<AgentSession, 'peer' | 'leaseMs'>): boolean =>
  peer.isWatching === true && leaseMs === null;

export function welcomeOf(
  cluster: Cluster,
  host: Host,
  session: AgentSession,
  { nowMs, publicUrl }: { nowMs: number; publicUrl: string | undefined },
): Welcome {
  const { lostAfterMs } = cluster.schedulerConfig;
  const periodMs = reportPeriodMs(lostAfterMs);
  return {
    session: `${host.id}.${nowMs}`,
    reportPeriodMs: periodMs,
    ...(session.isWatched && { pulseMs: periodMs }),
    spreadMs: spreadMs(cluster.hosts.size, lostAfterMs),
    timeMs: nowMs,
    ...(session.leaseMs === null ? {} : { leaseMs: session.leaseMs }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(host.pending && { pending: offerText(host.pending) }),
  };
}

/** An agent has connected with the key of a host whose agent is connected, which may be a copy of it. */
export function logSecondSession(
  log: Logger,
  { name, engineId }: Host,
  engine: string,
  [present, second]: readonly [AgentSession, AgentSession],
): void {
  const addresses = { present: present.address ?? 'unknown', second: second.address ?? 'unknown' };
  log('agent.second-session', { host: name, ...addresses, isSameEngine: engine === engineId });
}

export function logWelcome(
  log: Logger,
  cluster: Cluster,
  host: Host,
  inventory: readonly Observation[],
  decision: UnknownContainers,
): void {
  log('agent.connected', { host: host.name, containers: inventory.length });
  if (host.pending) log('host.offer-pending', { host: host.name, offer: offerText(host.pending) });
  const unknown = unknownIn(cluster.unknown, inventory);
  const first = unknown.slice(0, MAX_NAMED).join(' ');
  const services = unknown.length;
  if (first) log('agent.unknown-containers', { host: host.name, services, first, decision });
  const duplicates = duplicateStarts(cluster, host, inventory).slice(0, MAX_NAMED).join(' ');
  if (duplicates) log('agent.duplicate-starts', { host: host.name, services: duplicates });
}
