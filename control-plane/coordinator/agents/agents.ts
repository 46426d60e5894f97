/**
 * The connected agents: one session per host, the reports that agents send, and the commands that they
 * receive. All changes of the cluster state go through turns.
 */
import { keyOf } from '../../../shared/protocol/assignment.ts';
import type { Condition, Hello, Observation, Report } from '../../../shared/protocol/up.ts';
import { offerText } from '../../core/hosts/agreement.ts';
import {
  confirmedLeaseMs,
  confirmLease,
  leaseFor,
  markDisconnected,
  noteSilence,
} from '../../core/hosts/host-liveness.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { duplicateStarts, unauthorisedServices } from '../../core/hosts/report-authorisation.ts';
import {
  lacksContainers,
  observe,
  observeConditions,
  observeForgotten,
  observeUsage,
  welcomeHost,
} from '../../core/lifecycle/observations.ts';
import {
  type SeenIds,
  seenIds,
  skipIds,
  unknownIn,
  unprovenAmong,
  waitingOwners,
} from '../../core/lifecycle/restored-database.ts';
import { type Host, reportPeriodMs, spreadMs } from '../../core/model/host.ts';
import { isAssigned } from '../../core/model/service.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { coreSharesAt } from '../../core/state/core-shares.ts';
import type { Decision } from '../../core/state/decision.ts';
import type { AgentConnection } from '../connections/agent-connection.ts';
import { AgentConnections, type ConnectionDeps, logRefusal } from '../connections/agent-connections.ts';
import type { SessionPeer } from '../connections/session-peer.ts';
import { noTraffic, type Traffic } from '../connections/traffic.ts';
import type { AgentSocket, Clock, IdCode, Logger } from '../ports.ts';
import { FreshReports } from '../sleep/fresh-reports.ts';
import { SavedSessions } from '../sleep/saved-sessions.ts';
import type { Turns } from '../turns.ts';
import { AgentSession, type SessionEvents, type SessionOrigin, type Welcome } from './agent-session.ts';
import { assigner, assignmentsAt } from './assignments.ts';
import { type DeploymentDeps, type DeploymentParts, deploymentParts } from './deployment-parts.ts';
import { OverlayRequests } from './overlay-requests.ts';
import { ReplayGuard } from './replay-guard.ts';

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

/** The reports that a turn acknowledges: each session gets one ack, for the last of its reports (P7). */
class Acknowledgements {
  readonly #sequences = new Map<AgentSession, number>();

  /** The turn covers this report and all earlier ones of the session. */
  add(session: AgentSession, sequence: number): void {
    this.#sequences.set(session, sequence);
  }

  /** Sends them. Call it once the turn is committed. */
  send(cluster: Cluster, nowMs: number): void {
    for (const [session, sequence] of this.#sequences)
      session.acknowledge(sequence, nowMs, coreSharesAt(cluster, session.hostId));
    this.#sequences.clear();
  }

  clear(): void {
    this.#sequences.clear();
  }
}

/** For the agent's log. A close reason holds at most 120 characters. */
const UNPROVEN = 'too many ids without a proof: see agent.unproven-ids in the log of the control plane';

/**
 * Reserves the ids that the host has seen, even if the database is older than they are. Returns false, and
 * reserves none, if too many have no proof.
 */
function reserveIds(cluster: Cluster, host: string, seen: SeenIds, log: Logger): boolean {
  const unproven = unprovenAmong(cluster, seen);
  const isAccepted = skipIds(cluster, seen);
  if (unproven > 0) {
    const limit = cluster.schedulerConfig.bounds.unprovenIds;
    const fields = { host, ...seen.highest, unproven, total: cluster.unprovenIds, limit };
    log('agent.unproven-ids', { ...fields, decision: isAccepted ? 'skip' : 'refuse' });
  }
  return isAccepted;
}

/** An agent has one. Earlier ones may still be open if their end was not noticed. */
const MAX_CONNECTIONS = 4;

/**
 * The open connections of each host: at most a few, since each may hold a part of a long message (P154). Also
 * counts connections, for metrics.
 */
export class HostConnections {
  /** Connections that agents have opened, and those of them of hosts that had one before. */
  opened = 0;
  reopened = 0;
  /** Ids of the hosts that have had one. */
  readonly #seen = new Set<number>();
  /** By host id, the oldest first. */
  readonly #sessions = new Map<number, Set<AgentSession>>();

  /** Adds a connection. The oldest one closes if the host has too many. */
  add(session: AgentSession): void {
    this.#countOpened(session);
    const sessions = this.#sessions.get(session.hostId) ?? new Set();
    this.#sessions.set(session.hostId, sessions.add(session));
    const [oldest] = sessions;
    if (sessions.size > MAX_CONNECTIONS) oldest?.close('unavailable', 'too many connections of this host');
  }

  remove(session: AgentSession): void {
    const sessions = this.#sessions.get(session.hostId);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#sessions.delete(session.hostId);
  }

  /** A session that has joined before its coordinator slept is not a new connection. */
  #countOpened({ hostId, isJoined }: AgentSession): void {
    if (!isJoined) this.opened += 1;
    if (!isJoined && this.#seen.has(hostId)) this.reopened += 1;
    this.#seen.add(hostId);
  }

  /** Closes all connections, also those whose hello waits, so that the agents try another control plane. */
  sendAway(log: Logger): void {
    const sessions = [...this.#sessions.values()].flatMap((ofHost) => [...ofHost]);
    if (sessions.length > 0) log('agents.sent-away', { connections: sessions.length });
    for (const session of sessions) session.close('unavailable', 'another control plane may have taken over');
  }
}

/** What agents do with containers whose services are not in the database (P30). */
type UnknownContainers = 'keep' | 'remove';

/** Services that a line names; it has the number of all. */
const MAX_NAMED = 20;

/**
 * Whether the agent sends pulses, which its gateway watches (P179, P180). Only a report renews a lease, so an
 * agent with a lease reports.
 */
const isWatched = ({ peer, leaseMs }: Pick<AgentSession, 'peer' | 'leaseMs'>): boolean =>
  peer.isWatching === true && leaseMs === null;

/** The welcome of a host whose hello was accepted. */
function welcomeOf(
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
function logSecondSession(
  log: Logger,
  { name, engineId }: Host,
  engine: string,
  [present, second]: readonly [AgentSession, AgentSession],
): void {
  const addresses = { present: present.address ?? 'unknown', second: second.address ?? 'unknown' };
  log('agent.second-session', { host: name, ...addresses, isSameEngine: engine === engineId });
}

function logWelcome(
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
