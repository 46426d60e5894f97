/**
 * The connected agents: one session per host, the reports that agents send, and the commands that they
 * receive. All changes of the cluster state go through turns.
 */
import { keyOf } from '../../../shared/protocol/assignment.ts';
import type { Condition, Hello, Report } from '../../../shared/protocol/up.ts';
import {
  confirmedLeaseMs,
  confirmLease,
  leaseFor,
  markDisconnected,
  noteSilence,
} from '../../core/hosts/host-liveness.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { unauthorisedServices } from '../../core/hosts/report-authorisation.ts';
import {
  lacksContainers,
  observe,
  observeConditions,
  observeForgotten,
  observeUsage,
  welcomeHost,
} from '../../core/lifecycle/observations.ts';
import { seenIds, waitingOwners } from '../../core/lifecycle/restored-database.ts';
import type { Host } from '../../core/model/host.ts';
import { isAssigned } from '../../core/model/service.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Decision } from '../../core/state/decision.ts';
import type { AgentConnection } from '../connections/agent-connection.ts';
import { AgentConnections, type ConnectionDeps, logRefusal } from '../connections/agent-connections.ts';
import type { SessionPeer } from '../connections/session-peer.ts';
import { noTraffic, type Traffic } from '../connections/traffic.ts';
import type { AgentSocket, Clock, IdCode, Logger } from '../ports.ts';
import { FreshReports } from '../sleep/fresh-reports.ts';
import { SavedSessions } from '../sleep/saved-sessions.ts';
import type { Turns } from '../turns.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { AgentSession, type SessionEvents, type SessionOrigin } from './agent-session.ts';
import { assigner, assignmentsAt } from './assignments.ts';
import { type DeploymentDeps, type DeploymentParts, deploymentParts } from './deployment-parts.ts';
import { HostConnections } from './host-connections.ts';
import { OverlayRequests } from './overlay-requests.ts';
import { ReplayGuard } from './replay-guard.ts';
import { reserveIds, UNPROVEN } from './reported-ids.ts';
import { isWatched, logSecondSession, logWelcome, type UnknownContainers, welcomeOf } from './welcome.ts';

export interface AgentsDeps extends ConnectionDeps, DeploymentDeps {
  clock: Clock;
  /** BERTH_PUBLIC_URL. */
  publicUrl?: string | undefined;
  /** Default: `keep`. */
  unknownContainers?: UnknownContainers;
}

export class Agents implements SessionEvents {
  readonly traffic: Traffic;
  readonly replayGuard = new ReplayGuard();
  readonly perHost = new HostConnections();
  readonly freshReports: FreshReports;
  /** The sessions of a coordinator that sleeps. */
  readonly saved: SavedSessions<SessionPeer, AgentSession>;
  readonly #deploymentName: string;
  readonly #publicUrl: string | undefined;
  readonly #turns: Turns;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #idCode: IdCode;
  readonly #unknownContainers: UnknownContainers;
  readonly #deployment: (idKey: string) => DeploymentParts;
  readonly #overlays: OverlayRequests;
  readonly #connections: AgentConnections;
  /** By host id; from the commit of a session's hello until the session closes. */
  readonly #sessions = new Map<number, AgentSession>();
  /**
   * Ids of hosts whose hello is part of the current turn. A session of theirs that closes meanwhile is an
   * older one.
   */
  readonly #joining = new Set<number>();
  #attached = 0;
  /** The latest session of a host whose hello was taken. */
  readonly #latest = new WeakMap<Host, number>();
  /** Sessions that were welcomed in the current turn. Their sync already contains the turn's starts. */
  readonly #welcomed = new Set<AgentSession>();
  readonly #acknowledgements = new Acknowledgements();

  constructor(turns: Turns, deps: AgentsDeps) {
    const { deploymentName, clock, log, idCode, unknownContainers = 'keep', isolation = 'user' } = deps;
    this.#deploymentName = deploymentName;
    this.#publicUrl = deps.publicUrl;
    this.#turns = turns;
    this.#clock = clock;
    this.#log = log;
    this.#idCode = idCode;
    this.#unknownContainers = unknownContainers;
    this.#deployment = (idKey) => deploymentParts(deps, idKey);
    this.#overlays = new OverlayRequests(isolation, this.#sessions, clock);
    this.freshReports = new FreshReports(turns, clock, this.#sessions);
    this.saved = new SavedSessions(turns, this.#sessions, (peer, hostId, state) =>
      this.attach(peer, hostId, { state, address: state.address }),
    );
    this.traffic = deps.traffic ?? noTraffic();
    this.#connections = new AgentConnections({ ...deps, traffic: this.traffic }, this.#nameOf);
  }

  /** Records that the proof has admitted its host. Throws OperationError if it was used before. */
  admit(proof: VerifiedProof): void {
    this.replayGuard.use(proof, this.#clock.nowMs());
  }

  /**
   * Accepts a connection whose socket is in this process. The caller must pass the connection its frames, and
   * the end of the socket.
   */
  connect(socket: AgentSocket, hostId: number, address?: string): AgentConnection {
    return this.#connections.connect(socket, hostId, (connection) =>
      this.attach(connection, hostId, { address }),
    );
  }

  /** Begins a session, or goes on with one. The caller must pass it the agent's messages, and its end. */
  attach(peer: SessionPeer, hostId: number, origin: SessionOrigin = {}): AgentSession {
    const session = new AgentSession(peer, hostId, this, origin);
    session.number = ++this.#attached;
    this.perHost.add(session);
    return session;
  }

  session(hostId: number | null): AgentSession | undefined {
    return hostId === null ? undefined : this.#sessions.get(hostId);
  }

  /** Closes all connections, because the agents may have outdated state. They reconnect with a new hello. */
  dropAll(): void {
    for (const session of [...this.#sessions.values()]) session.close('unavailable');
    this.#sessions.clear();
    this.#joining.clear();
    this.#acknowledgements.clear();
  }

  hello(session: AgentSession, hello: Hello): void {
    if (hello.deployment !== this.#deploymentName) {
      session.close('wrongDeployment', `this control plane serves deployment ${this.#deploymentName}`);
      return;
    }
    let host: Host | undefined;
    const known = this.#turns.cluster;
    this.#turns.enqueue({
      kind: 'report',
      requires: (cluster) => waitingOwners(cluster, hello.inventory),
      run: (cluster, nowMs) => {
        if (session.isClosed) return;
        // Another coordinator may have started it since, at a later connection (C221).
        if (cluster !== known && lacksContainers(cluster, session.hostId, hello.inventory))
          return session.close('resync', 'the hello is older than the state: send another');
        // A later coordinator may have registered the host, whose agent destroys its containers otherwise.
        if (!cluster.hosts.has(session.hostId)) cluster.changes.confirmsEpoch = true;
        const found = this.#hostOf(session, hello, cluster);
        if (!found || !this.#isItsEngine(session, hello, found) || !this.#acceptIds(cluster, session, hello))
          return;
        // A gateway may have passed it on late: what it lacks may have started since (C221).
        if ((this.#latest.get(found) ?? 0) > session.number)
          return session.close('resync', 'a later connection of this host has said hello');
        this.#latest.set(found, session.number);
        host = found;
        this.#conditions(cluster, host, hello.conditions ?? []);
        session.leaseMs = leaseFor(cluster);
        session.isWatched = isWatched(session);
        host.leaseMs = confirmedLeaseMs(session.leaseMs, hello.leaseMs);
        welcomeHost(cluster, host, hello.host, hello.inventory, nowMs);
        host.engineId = hello.engine.id;
        host.isWatched = session.isWatched;
        this.#overlays.observe(host, hello.swarm ?? null);
        this.#joining.add(host.id);
      },
      done: (cluster, nowMs) => {
        if (host) this.#join(session, hello, host, cluster, nowMs);
        else if (!cluster.hosts.has(session.hostId)) session.close('revoked', 'this host was removed');
      },
      fail: () => session.close('unavailable'),
    });
  }

  /** Makes the session that of its host. Called once the hello is committed. */
  #join(session: AgentSession, hello: Hello, host: Host, cluster: Cluster, nowMs: number): void {
    this.#joining.delete(host.id);
    this.#sessions.get(host.id)?.close('superseded', 'another agent has connected with the key of this host');
    this.#sessions.set(host.id, session);
    session.isJoined = true;
    // It may have closed during the commit, when `bye` did not yet find it.
    if (session.isClosed) {
      this.bye(session);
      return;
    }
    this.#welcomed.add(session);
    session.listed = new Set(hello.inventory.map(keyOf));
    const assignments = assignmentsAt(host.id, cluster, this.#deploymentParts());
    const unknown = this.#unknownContainers === 'keep' ? cluster.unknown : [];
    const welcome = welcomeOf(cluster, host, session, { nowMs, publicUrl: this.#publicUrl });
    session.welcome(welcome, assignments, unknown);
    this.#overlays.changed(cluster, host);
    logWelcome(this.#log, cluster, host, hello.inventory, this.#unknownContainers);
  }

  #acceptIds(cluster: Cluster, session: AgentSession, hello: Hello): boolean {
    const { idKey } = this.#turns.loaded;
    const seen = seenIds(hello, (ids) => this.#idCode.isProof(idKey, ids));
    const isAccepted = reserveIds(cluster, hello.host.name, seen, this.#log);
    if (!isAccepted) session.close('badMessage', UNPROVEN);
    return isAccepted;
  }

  #deploymentParts(): DeploymentParts {
    return this.#deployment(this.#turns.loaded.idKey);
  }

  /**
   * The host of the session's key, unless it was removed. Closes the session if the agent reports another
   * name.
   */
  #hostOf(session: AgentSession, hello: Hello, cluster: Cluster): Host | undefined {
    const host = cluster.hosts.get(session.hostId);
    if (!host || host.name === hello.host.name) return host;
    session.close('badMessage', `the key belongs to host ${host.name}, not ${hello.host.name}`);
    return undefined;
  }

  /**
   * Whether the inventory is that of the host's engine. On another one, the absence of a container shows
   * nothing (P319). Closes the session otherwise.
   */
  #isItsEngine(session: AgentSession, { engine }: Hello, host: Host): boolean {
    const present = this.#sessions.get(host.id);
    const isOther = host.engineId !== null && host.engineId !== engine.id;
    if (present && present !== session && !present.isClosed)
      logSecondSession(this.#log, host, engine.id, [present, session]);
    if (!isOther) return true;
    if (!engine.accepted)
      session.close('otherEngine', `the services of host ${host.name} are on the engine ${host.engineId}`);
    // The agent with the containers is there: this one is a copy of it.
    else if (present && !present.isClosed)
      session.close('unavailable', 'an agent with the engine of this host is connected');
    else return true;
    return false;
  }

  report(session: AgentSession, report: Report): void {
    this.#turns.enqueue({
      kind: 'report',
      run: (cluster, nowMs) => {
        const host = cluster.hosts.get(session.hostId);
        // A hello earlier in this turn supersedes the session, which is closed only after the commit.
        if (!host || this.#sessions.get(host.id) !== session || this.#joining.has(host.id)) return;
        const unauthorised = unauthorisedServices(cluster, host, report, session.listed);
        if (unauthorised.length > 0) return this.#refuse(session, `services ${unauthorised.join(' ')}`);
        host.lastContactMs = nowMs;
        host.heardMs = nowMs;
        confirmLease(cluster, host, session.leaseMs);
        if (report.conditions) this.#conditions(cluster, host, report.conditions);
        observeUsage(host, report.usage);
        if (report.swarm !== undefined) this.#overlays.observe(host, report.swarm);
        for (const observation of report.observations) observe(cluster, host, observation, nowMs);
        for (const service of report.forgotten) observeForgotten(cluster, host, service);
      },
      done: (cluster) => {
        this.#acknowledgements.add(session, report.sequence);
        this.freshReports.reported(session);
        this.#overlays.reported(cluster, session.hostId, report);
      },
      fail: () => session.close('unavailable'),
    });
  }

  /** Closes the connection of an agent that reports on another host's services. */
  #refuse(session: AgentSession, what: string): void {
    if (session.isClosed) return;
    logRefusal(this.#log, this.#nameOf(session.hostId), what);
    session.close('badMessage', `not allowed for this host: ${what}`);
  }

  #nameOf = (hostId: number): string | number => this.#turns.cluster?.hosts.get(hostId)?.name ?? hostId;

  bye(session: AgentSession): void {
    const { hostId } = session;
    this.perHost.remove(session);
    if (this.#sessions.get(hostId) !== session) return;
    this.#sessions.delete(hostId);
    this.#turns.enqueue({
      kind: 'report',
      run: (cluster, nowMs) => {
        const host = cluster.hosts.get(hostId);
        if (!host || this.#sessions.has(hostId) || this.#joining.has(hostId)) return;
        if (session.isWatched) noteSilence(host, session.silentMs ?? 0, nowMs);
        markDisconnected(cluster, host);
        this.#log('agent.disconnected', { host: host.name });
      },
      fail: () => {},
    });
  }

  #conditions(cluster: Cluster, host: Host, conditions: readonly Condition[]): void {
    if (!observeConditions(host, conditions)) return;
    cluster.changes.conditions.add(host);
    const texts = conditions.map(({ kind, text }) => `${kind}: ${text}`).join('; ');
    this.#log('host.conditions', { host: host.name, conditions: texts });
  }

  /** Sends the agents what a turn has committed: acknowledgements of their reports, then decisions. */
  committed(decisions: readonly Decision[], cluster: Cluster): void {
    this.#acknowledgements.send(cluster, this.#clock.nowMs());
    const assignment = assigner(cluster, this.#deploymentParts());
    this.#overlays.decided(cluster, decisions);
    const forget = new Map<AgentSession, number[]>();
    for (const decision of decisions) {
      if (decision.kind === 'lose-host') this.#sessions.get(decision.host.id)?.close('resync');
      if (decision.kind === 'requeue-host') this.#log('host.requeued', { host: decision.host.name });
      if (!('service' in decision)) continue;
      const { service } = decision;
      const session = this.session(service.hostId);
      if (!session) continue;
      if (decision.kind === 'forget') forget.set(session, [...(forget.get(session) ?? []), service.id]);
      // A service may be started and stopped in the same turn. Its state shows which of the two still holds.
      const isNew = isAssigned(service) && !this.#welcomed.has(session);
      if (decision.kind === 'start' && isNew) session.start(assignment(service));
      // Sent even if the sync omitted the service: the agent must report it gone, and may never have received
      // the start (COORD-4).
      if (decision.kind === 'stop') session.stop({ service: service.id, generation: service.generation });
    }
    for (const [session, services] of forget) session.forget(services);
    this.#welcomed.clear();
  }
}
