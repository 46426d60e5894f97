/**
 * Permits of streams: who may open a stream to which service, how many at once, and when each must end. A
 * permit is itself a stream (permit.ts). No bytes of the stream pass here.
 */
import type { AuditEntry } from '../../core/accounts/audit.ts';
import type { Limit } from '../../core/metrics/limits.ts';
import { StreamCounts, type StreamRefusal } from '../../core/metrics/stream-counts.ts';
import { type ErrorCode, OperationError } from '../../core/model/errors.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { streamEnd } from '../../core/streams/stream-end.ts';
import { ACCESS_ENDED, type StreamSubscriber, streamRefusal } from '../../core/streams/stream-subscriber.ts';
import type { Db } from '../../store/db/db.ts';
import type { Agents } from '../agents/agents.ts';
import type { Clock } from '../ports.ts';
import type { Turns } from '../turns.ts';
import { accountReader } from './account-reader.ts';
import { Permit, type PermitLine } from './permit.ts';
import { Subscriptions } from './subscriptions.ts';

type Place = Extract<PermitLine, { key: unknown }>;

/** How often credentials are checked again. */
const REVIEW_INTERVAL_MS = 60_000;
/** By then, heartbeats have detected the clients that have left. */
const RETRY_AFTER_S = 15;

export class StreamPermits {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #agents: Agents;
  readonly #clock: Clock;
  readonly #rules: StreamRules;
  readonly #permits: Subscriptions<Permit>;
  readonly counts = new StreamCounts();
  #isReviewScheduled = false;

  constructor(db: Db, turns: Turns, agents: Agents, clock: Clock, rules: StreamRules) {
    this.#db = db;
    this.#turns = turns;
    this.#agents = agents;
    this.#clock = clock;
    this.#rules = rules;
    this.#permits = new Subscriptions({ what: 'streams', perUser: rules.perUser, inTotal: rules.inTotal });
  }

  get size(): number {
    return this.#permits.size;
  }

  /** Those of one user, service or host are of the one that has most. */
  get limits(): Limit[] {
    const all = this.#permits.of(null);
    const most = (keyOf: (permit: Permit) => number): number =>
      Math.max(0, ...[...Map.groupBy(all, keyOf).values()].map(({ length }) => length));
    const { inTotal, perUser, perService, perHost } = this.#rules;
    const limit = (name: string, setting: string, used: number, max: number): Limit => ({
      name,
      setting,
      used,
      limit: max,
    });
    return [
      limit('streams', 'BERTH_LIMITS.streams', all.length, inTotal),
      limit(
        'streams_of_one_user',
        'BERTH_LIMITS.streamsPerUser',
        most(({ subscriber }) => subscriber.userId),
        perUser,
      ),
      limit(
        'streams_of_one_service',
        'BERTH_LIMITS.streamsPerService',
        most(({ place }) => place.key.service),
        perService,
      ),
      limit(
        'streams_of_one_host',
        'BERTH_LIMITS.streamsPerHost',
        most(({ place }) => place.hostId),
        perHost,
      ),
    ];
  }

  /**
   * Throws OperationError if the service can't be reached now, or if a bound is reached. The entry of the
   * audit log is committed before. `id` is for `left`. A request that arrives twice has the same `id`, and
   * its second arrival is refused.
   */
  async open(
    subscriber: StreamSubscriber,
    serviceId: number,
    entry: AuditEntry,
    id?: string,
  ): Promise<ReadableStream<Uint8Array>> {
    const place = await this.#turns.update((cluster, nowMs) => {
      const found = this.#locate(cluster, serviceId);
      this.#assertRoom(subscriber, found, cluster, id);
      cluster.changes.audited.push({ entry: { ...entry, targetId: serviceId }, timeMs: nowMs });
      return found;
    });
    // During the commit others may have been opened, and the service may have ended.
    const { cluster } = this.#turns;
    const end = cluster && streamEnd(cluster, place);
    if (end !== undefined) throw this.#refused('stopped', 'conflict', end);
    this.#assertRoom(subscriber, place, cluster, id);
    const permit: Permit = new Permit(id, subscriber, place, () => this.#permits.delete(permit));
    this.#permits.add(permit);
    this.counts.opened(entry.action);
    permit.send(place);
    this.#scheduleReview();
    // The credential may have ended since the request was authorised.
    void this.review(subscriber.userId);
    return permit.stream;
  }

  /** The stream with the permit of this id is over. */
  left(id: string): void {
    for (const permit of this.#permits.of(null)) if (permit.id === id) permit.leave();
  }

  /** The changes of a turn are committed. */
  changed(cluster: Cluster): void {
    for (const permit of this.#permits.withStaleCredentials(cluster)) permit.end(ACCESS_ENDED);
    for (const permit of this.#permits.of(null)) {
      const reason = streamEnd(cluster, permit.place);
      if (reason !== undefined) permit.end(reason);
    }
  }

  /** Ends the streams of a user (null: of all users) who has lost access. */
  async review(userId: number | null): Promise<void> {
    const accountOf = accountReader(this.#db, this.#clock.nowMs());
    const reviews = this.#permits.of(userId).map(async (permit) => {
      const refusal = streamRefusal(permit.subscriber, await accountOf(permit.subscriber));
      if (refusal !== undefined) permit.end(refusal);
    });
    await Promise.allSettled(reviews);
  }

  /** Another coordinator has taken over. */
  retired(): void {
    for (const permit of this.#permits.of(null)) permit.end('Another control plane has taken over.');
  }

  #locate(cluster: Cluster, serviceId: number): Place {
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
    const { logs } = session.peer;
    return { key, hostId, gateway: 'gateway' in logs ? logs : null };
  }

  /** Must be called directly before a permit is added. */
  #assertRoom(
    subscriber: StreamSubscriber,
    { key, hostId }: Place,
    cluster: Cluster | undefined,
    id: string | undefined,
  ): void {
    const all = this.#permits.of(null);
    if (id !== undefined && all.some((permit) => permit.id === id))
      throw new OperationError('conflict', 'The stream has its permit already.');
    try {
      this.#permits.assertAllowed(subscriber, cluster);
    } catch (error) {
      if (error instanceof OperationError) this.counts.refused(REASONS[error.code] ?? 'access');
      throw error;
    }
    const { perService, perHost } = this.#rules;
    const atService = all.filter(({ place }) => place.key.service === key.service);
    if (atService.length >= perService) {
      for (const permit of atService) permit.heartbeat();
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

  #scheduleReview(): void {
    if (this.#isReviewScheduled || this.#permits.size === 0) return;
    this.#isReviewScheduled = true;
    this.#clock.after(REVIEW_INTERVAL_MS, () => {
      this.#isReviewScheduled = false;
      for (const permit of this.#permits.of(null)) permit.heartbeat();
      void this.review(null);
      this.#scheduleReview();
    });
  }
}

/** What the errors of Subscriptions.assertAllowed stand for. */
const REASONS: Partial<Record<ErrorCode, StreamRefusal>> = { 'too-many': 'user', unavailable: 'total' };
