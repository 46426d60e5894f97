/**
 * Overlay networks of swarms: requests from agents on managers those that services are about to join
 * (C191). Managers remove them by themselves. Changes nothing of the state but the swarms of hosts.
 */
import type { Isolation } from '../../../shared/protocol/assignment.ts';
import type { Overlay, Swarm } from '../../../shared/protocol/swarm.ts';
import type { Report } from '../../../shared/protocol/up.ts';
import { swarmManagers } from '../../core/hosts/swarms.ts';
import { observeSwarm } from '../../core/lifecycle/observations.ts';
import type { Host } from '../../core/model/host.ts';
import { isAssigned, type Service } from '../../core/model/service.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Decision } from '../../core/state/decision.ts';
import type { Clock } from '../ports.ts';
import type { AgentSession } from './agent-session.ts';

/** Managers keep a network for a minute after a request. */
const REPEAT_MS = 20_000;
/** Requests remembered for one session. */
const MAX_REMEMBERED = 10_000;

export class OverlayRequests {
  readonly #isolation: Isolation;
  /** By host id. */
  readonly #sessions: ReadonlyMap<number, AgentSession>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** When each network was last requested. */
  readonly #requested = new WeakMap<AgentSession, Map<string, number>>();
  /** Hosts whose engine has joined, changed or left a swarm in the current turn. */
  readonly #moved = new WeakSet<Host>();

  constructor(
    isolation: Isolation,
    sessions: ReadonlyMap<number, AgentSession>,
    clock: Pick<Clock, 'monotonicMs'>,
  ) {
    this.#isolation = isolation;
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /** Within a turn: the swarm that an agent has reported. */
  observe(host: Host, swarm: Swarm | null): void {
    if (observeSwarm(host, swarm)) this.#moved.add(host);
  }

  /** After a commit: the services that are about to start. */
  decided(cluster: Cluster, decisions: readonly Decision[]): void {
    this.request(
      cluster,
      decisions.flatMap((decision) => (decision.kind === 'start' ? decision.service : [])),
    );
  }

  /** Requests the networks of services that are to start, from every manager of their swarm. */
  request(cluster: Cluster, services: Iterable<Service>): void {
    const managersOf = swarmManagers(cluster);
    for (const service of services) {
      const host = service.hostId === null ? undefined : cluster.hosts.get(service.hostId);
      const overlay = host?.swarm ? this.#overlayOf(cluster, service) : undefined;
      if (!host || !overlay) continue;
      for (const manager of managersOf(host)) this.#send(manager, overlay);
    }
  }

  /**
   * After the commit of a report. Repeats requests during starts: a manager keeps a network for a minute,
   * and a pull may take longer.
   */
  reported(cluster: Cluster, hostId: number, { observations }: Pick<Report, 'observations'>): void {
    const host = cluster.hosts.get(hostId);
    if (host && this.#moved.delete(host)) this.changed(cluster, host);
    if (!host?.swarm) return;
    const services = observations
      .filter(({ state }) => state === 'preparing')
      .flatMap(({ service }) => cluster.services.get(service) ?? []);
    this.request(
      cluster,
      services.filter((service) => service.hostId === hostId),
    );
  }

  /** An agent has connected, or its engine has joined another swarm. */
  changed(cluster: Cluster, host: Host): void {
    if (!host.swarm) return;
    this.request(cluster, assignedAt(cluster, host));
    if (!host.swarm.isManager) return;
    const managersOf = swarmManagers(cluster);
    for (const other of cluster.hosts.values())
      if (other !== host && managersOf(other).includes(host))
        this.request(cluster, assignedAt(cluster, other));
  }

  #overlayOf(cluster: Cluster, { executionId }: Service): Overlay | undefined {
    if (this.#isolation === 'none') return undefined;
    if (this.#isolation === 'execution') return { isolation: 'execution', of: String(executionId) };
    const execution = cluster.executions.get(executionId);
    const user = execution && cluster.users.get(execution.userId);
    return user && { isolation: 'user', of: user.username };
  }

  #send(manager: Host, overlay: Overlay): void {
    const session = this.#sessions.get(manager.id);
    if (!session) return;
    const key = `${overlay.isolation} ${overlay.of}`;
    const requested = this.#requested.get(session) ?? new Map<string, number>();
    this.#requested.set(session, requested);
    const lastMs = requested.get(key);
    if (lastMs !== undefined && this.#clock.monotonicMs() - lastMs < REPEAT_MS) return;
    if (requested.size >= MAX_REMEMBERED) requested.clear();
    requested.set(key, this.#clock.monotonicMs());
    session.makeOverlay(overlay);
  }
}

const assignedAt = (cluster: Cluster, { id }: Host): Service[] =>
  [...cluster.servicesAt(id)].filter(isAssigned);
