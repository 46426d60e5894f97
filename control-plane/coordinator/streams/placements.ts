/**
 * Who has channels open to which services: admits readers of output, and clients of commands, files, ports
 * and applications, within their limits, states where the service is (placement.ts), and ends what has lost
 * access. No bytes of a channel pass here.
 */
import type { LogPart } from '../../../shared/streams/targets.ts';
import type { AuditEntry } from '../../core/accounts/audit.ts';
import type { Limit } from '../../core/metrics/limits.ts';
import { StreamCounts, type StreamRefusal } from '../../core/metrics/stream-counts.ts';
import { type ErrorCode, OperationError } from '../../core/model/errors.ts';
import { isOver } from '../../core/model/execution.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { ACCESS_ENDED, type ChannelSubscriber, refusalOf } from '../../core/streams/channel-subscriber.ts';
import { type StreamPlace, streamEnd } from '../../core/streams/stream-end.ts';
import type { Db } from '../../store/db/db.ts';
import { findLogLocation } from '../../store/executions/executions.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { Agents } from '../agents/agents.ts';
import type { Clock } from '../ports.ts';
import { readDatabase } from '../turn-inputs.ts';
import type { Turns } from '../turns.ts';
import { accountReader } from './account-reader.ts';
import {
  type ChannelAddress,
  type Ended,
  type OpenPlacement,
  Placement,
  type PlacementState,
} from './placement.ts';
import { Subscriptions } from './subscriptions.ts';

/** How often credentials are checked again, and placements receive a heartbeat. */
const REVIEW_INTERVAL_MS = 60_000;
/** How long a change of access waits for readers who have lost it. */
const MAX_REVOKE_MS = 5_000;
/** By then, heartbeats have detected the clients that have left. */
const RETRY_AFTER_S = 15;

/** What a placement is asked for. */
export interface PlacementRequest {
  subscriber: ChannelSubscriber;
  serviceId: number;
  /** What opens channels: output, which outlives starts and the service, or a stream to one start. */
  for: { kind: 'log'; part: LogPart } | { kind: 'stream'; entry: AuditEntry };
}

/** Placements, here or in another object. */
export interface PlacementSource {
  /**
   * Admits a reader or client of channels to a service. Rejects with OperationError if the service can't be
   * reached now, or if a limit is reached.
   */
  place(request: PlacementRequest): Promise<OpenPlacement>;
}

/** The host of a service's last start, and the number of its starts. */
interface LogLocation {
  executionId: number;
  hostId: number | null;
  generation: number;
}

const locationOf = (service: LogLocation | undefined): LogLocation | undefined =>
  service && { executionId: service.executionId, hostId: service.hostId, generation: service.generation };

/** A stream and the start that it is connected to. */
type StreamPlacement = Placement & { place: StreamPlace };

export class Placements {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #agents: Agents;
  readonly #clock: Clock;
  readonly #rules: StreamRules;
  /** A page opens up to 16 logs, and the agent of a host serves 256 (STREAM-5). */
  readonly #logs = new Subscriptions<Placement>({ what: 'logs', perUser: 100, inTotal: 1_000 });
  readonly #streams: Subscriptions<StreamPlacement>;
  /** Those of readers who have lost access and have not left yet. */
  readonly #revoked = new Set<Promise<void>>();
  readonly counts = new StreamCounts();
  #cancelReview: (() => void) | undefined;

  constructor(db: Db, turns: Turns, agents: Agents, clock: Clock, rules: StreamRules) {
    this.#db = db;
    this.#turns = turns;
    this.#agents = agents;
    this.#clock = clock;
    this.#rules = rules;
    this.#streams = new Subscriptions({ what: 'streams', perUser: rules.perUser, inTotal: rules.inTotal });
  }

  get size(): number {
    return this.#logs.size + this.#streams.size;
  }

  /** Those of one user, service or host are of the one that has most. */
  get limits(): Limit[] {
    const all = this.#streams.of(null);
    const most = (keyOf: (stream: StreamPlacement) => number): number =>
      Math.max(0, ...[...Map.groupBy(all, keyOf).values()].map(({ length }) => length));
    const { inTotal, perUser, perService, perHost } = this.#rules;
    const limit = (name: string, setting: string, used: number, max: number): Limit => ({
      name,
      setting: `BERTH_LIMITS.${setting}`,
      used,
      limit: max,
    });
    const ofUser = most(({ subscriber }) => subscriber.userId);
    const ofService = most(({ place }) => place.key.service);
    const ofHost = most(({ place }) => place.hostId);
    return [
      { name: 'log_streams', used: this.#logs.size, limit: this.#logs.maxSize },
      limit('streams', 'streams', all.length, inTotal),
      limit('streams_of_one_user', 'streamsPerUser', ofUser, perUser),
      limit('streams_of_one_service', 'streamsPerService', ofService, perService),
      limit('streams_of_one_host', 'streamsPerHost', ofHost, perHost),
    ];
  }

  /** See PlacementSource. */
  open(request: PlacementRequest): Promise<OpenPlacement> {
    return request.for.kind === 'log'
      ? this.#openLog(request, request.for.part)
      : this.#openStream(request, request.for.entry);
  }

  /** The changes of a turn are committed. */
  changed(cluster: Cluster): void {
    for (const open of [this.#logs, this.#streams])
      for (const placement of open.withStaleCredentials(cluster)) this.#revoke(placement, ACCESS_ENDED);
    for (const placement of this.#all(null)) placement.update();
  }

  /**
   * Ends what a user (null: all users) has open and may not have any longer. If the database can't be read,
   * the next review decides.
   */
  async review(userId: number | null): Promise<void> {
    const accountOf = accountReader(this.#db, this.#clock.nowMs());
    const reviews = this.#all(userId).map(async (placement) => {
      const refusal = refusalOf(placement.subscriber, await accountOf(placement.subscriber));
      if (refusal !== undefined) this.#revoke(placement, refusal);
    });
    await Promise.allSettled(reviews);
  }

  /** Resolves once nothing goes on for which access has ended, or when a reader may be taken for gone. */
  async revoked(): Promise<void> {
    if (this.#revoked.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(MAX_REVOKE_MS, resolve);
    await Promise.race([Promise.all(this.#revoked), promise]);
    cancel();
  }

  /** Another coordinator has taken over; this one learns no more about any service. */
  retired(): void {
    for (const placement of this.#all(null))
      void placement.end({ ended: 'Another control plane has taken over. Connect to that one.' });
  }

  #revoke(placement: Placement, ended: string): void {
    const left = placement.end({ ended, lostAccess: true });
    this.#revoked.add(left);
    void left.then(() => this.#revoked.delete(left));
  }

  #all(userId: number | null): Placement[] {
    return [...this.#logs.of(userId), ...this.#streams.of(userId)];
  }

  async #openLog({ subscriber, serviceId }: PlacementRequest, part: LogPart): Promise<OpenPlacement> {
    const state = this.#logStateOf(await this.#locateLog(serviceId), serviceId, part);
    this.#logs.assertAllowed(subscriber, this.#turns.cluster);
    assertPartThere(state(), part);
    const placement = this.#placement(subscriber, state, () => this.#logs.delete(placement));
    this.#logs.add(placement);
    this.#scheduleReview();
    return placement;
  }

  /** The entry of the audit log is committed before. */
  async #openStream({ subscriber, serviceId }: PlacementRequest, entry: AuditEntry): Promise<OpenPlacement> {
    const { session, ...place } = await this.#turns.update((cluster, nowMs) => {
      const found = this.#locateStream(cluster, serviceId);
      this.#assertRoom(subscriber, found, cluster);
      cluster.changes.audited.push({ entry: { ...entry, targetId: serviceId }, timeMs: nowMs });
      return found;
    });
    const endOf = () => this.#turns.cluster && streamEnd(this.#turns.cluster, place);
    // During the commit others may have been opened, and the service may have ended.
    const end = endOf();
    if (end !== undefined) throw this.#refused('stopped', 'conflict', end);
    this.#assertRoom(subscriber, place, this.#turns.cluster);
    const { generation } = place.key;
    const state = (): PlacementState | undefined => {
      const ended = this.#turns.hasUncommittedChanges ? undefined : endOf();
      return ended === undefined ? { generation, session, removed: false, final: false } : { ended };
    };
    const placement: StreamPlacement = Object.assign(
      this.#placement(subscriber, state, () => this.#streams.delete(placement)),
      { place },
    );
    this.#streams.add(placement);
    this.counts.opened(entry.action);
    this.#scheduleReview();
    // The credential may have ended since the request was authorised.
    void this.review(subscriber.userId);
    return placement;
  }

  #placement(
    subscriber: ChannelSubscriber,
    state: () => PlacementState | undefined,
    remove: () => void,
  ): Placement {
    const addressOf = (session: AgentSession) => this.#addressOf(session);
    const done = () => {
      remove();
      // A review that is due would keep the object of the coordinator awake.
      if (this.size === 0) this.#cancelReview?.();
    };
    return new Placement({ subscriber, state, addressOf, done });
  }

  #addressOf({ hostId, peer }: AgentSession): ChannelAddress {
    const host = this.#turns.cluster?.hosts.get(hostId)?.name ?? hostId;
    return { hostId, host, gateway: peer.gateway ?? null };
  }

  #scheduleReview(): void {
    if (this.#cancelReview || this.size === 0) return;
    const cancel = this.#clock.after(REVIEW_INTERVAL_MS, () => {
      this.#cancelReview = undefined;
      for (const placement of this.#all(null)) placement.heartbeat();
      // Without other work, only this reveals that another coordinator has taken over.
      this.#turns.confirmEpoch();
      void this.review(null);
      this.#scheduleReview();
    });
    this.#cancelReview = () => {
      this.#cancelReview = undefined;
      cancel();
    };
  }

  /** Throws if the output of the service can't be read now. */
  async #locateLog(serviceId: number): Promise<LogLocation> {
    // The turn ensures that the state is loaded. A service that the turn ends is not live in the result.
    const findLive = () => this.#turns.query(({ services }) => locationOf(services.get(serviceId)));
    const live = await findLive();
    if (live) return live;
    const stored = await readDatabase(findLogLocation(this.#db, serviceId));
    if (!stored) return { executionId: 0, hostId: null, generation: 0 };
    if (this.#waits(stored.executionId)) return stored;
    if (!stored.hasEnded) {
      // The execution may have been placed during the read.
      const placed = await findLive();
      if (placed) return placed;
      throw fallenBehind();
    }
    // A host that only the database has was not removed.
    if (stored.hasHost && this.#isRemoved(stored)) throw fallenBehind();
    if (stored.generation > 0 && !this.#isRemoved(stored) && !this.#agents.session(stored.hostId)) {
      const message = `The log is on host ${stored.hostName}, which is not connected. Try again when its agent has reconnected.`;
      throw new OperationError('unavailable', message);
    }
    return stored;
  }

  /**
   * Returns the current state of a service's log, even after its execution has ended. `last` is its last
   * known location.
   */
  #logStateOf(
    last: LogLocation,
    serviceId: number,
    { follow }: LogPart,
  ): () => Exclude<PlacementState, Ended> | undefined {
    const { executionId } = last;
    let { hostId, generation } = last;
    return () => {
      // Uncommitted state must not be sent. All placements are updated after the commit.
      if (this.#turns.hasUncommittedChanges) return undefined;
      const cluster = this.#turns.cluster;
      const service = cluster?.services.get(serviceId);
      // While the state is being reloaded nothing is certain, so nothing is final.
      let final = cluster !== undefined && !this.#waits(executionId);
      if (service) {
        ({ hostId, generation } = service);
        const execution = cluster?.executions.get(service.executionId);
        final = execution !== undefined && isOver(execution, service);
      }
      const removed = this.#isRemoved({ hostId });
      const host = generation > 0 && hostId !== null ? cluster?.hosts.get(hostId) : undefined;
      const away = host?.lost
        ? `Host ${host.name} is lost. This log continues once its agent has reconnected.`
        : undefined;
      const session = this.#agents.session(hostId);
      return { generation, session, removed, away, final: final || follow === false };
    };
  }

  /** Whether the execution waits: its services may start, but are not in memory. */
  #waits(executionId: number): boolean {
    const execution = this.#turns.cluster?.executions.get(executionId);
    return execution?.status === 'queued' && !execution.deleted;
  }

  /** True if the logs were removed together with their host. */
  #isRemoved({ hostId }: Pick<LogLocation, 'hostId'>): boolean {
    return hostId !== null && this.#turns.cluster?.hosts.has(hostId) === false;
  }

  #locateStream(cluster: Cluster, serviceId: number): StreamPlace & { session: AgentSession } {
    const service = cluster.services.get(serviceId);
    if (!service?.containerId || service.hostId === null || service.exit || service.status === 'inactive')
      throw this.#refused('stopped', 'conflict', 'The service is not running.');
    const { hostId, generation } = service;
    const key = { service: serviceId, generation };
    const end = streamEnd(cluster, { key, hostId });
    if (end !== undefined) throw this.#refused('stopped', 'conflict', end);
    const host = cluster.hosts.get(hostId)?.name ?? hostId;
    const session = this.#agents.session(hostId);
    if (!session)
      throw this.#refused(
        'unreachable',
        'unavailable',
        `Host ${host} is not connected. Try again when it is.`,
      );
    return { key, hostId, session };
  }

  /** Must be called directly before a stream is added. */
  #assertRoom(
    subscriber: ChannelSubscriber,
    { key, hostId }: StreamPlace,
    cluster: Cluster | undefined,
  ): void {
    const all = this.#streams.of(null);
    try {
      this.#streams.assertAllowed(subscriber, cluster);
    } catch (error) {
      if (error instanceof OperationError) this.counts.refused(REASONS[error.code] ?? 'access');
      throw error;
    }
    const { perService, perHost } = this.#rules;
    const atService = all.filter(({ place }) => place.key.service === key.service);
    if (atService.length >= perService) {
      for (const stream of atService) stream.heartbeat();
      throw this.#refused(
        'service',
        'too-many',
        `The service has ${perService} streams open, which is the limit. Close one and try again.`,
      );
    }
    if (all.filter(({ place }) => place.hostId === hostId).length >= perHost)
      throw this.#refused(
        'host',
        'unavailable',
        `The host of the service has ${perHost} streams open, which is the limit. Try again later.`,
      );
  }

  #refused(reason: StreamRefusal, code: ErrorCode, message: string): OperationError {
    this.counts.refused(reason);
    return new OperationError(code, message, code === 'too-many' ? { retryAfterS: RETRY_AFTER_S } : {});
  }
}

/** What the errors of Subscriptions.assertAllowed stand for. */
const REASONS: Partial<Record<ErrorCode, StreamRefusal>> = { 'too-many': 'user', unavailable: 'total' };

/** Throws if the host can't serve the part, which a reader who follows would wait for. */
function assertPartThere(
  state: Exclude<PlacementState, Ended> | undefined,
  { follow = true }: LogPart,
): void {
  if (!state || state.generation === 0 || state.removed || follow || state.session) return;
  throw new OperationError(
    'unavailable',
    'The log is on a host that is not connected. Try again when its agent has reconnected.',
  );
}

/**
 * A coordinator that has fallen behind would take an execution for an ended one, or a host for a removed one
 * (C122).
 */
const fallenBehind = () =>
  new OperationError(
    'unavailable',
    'This control plane has not loaded the execution, or another one has taken over. Try again.',
  );
