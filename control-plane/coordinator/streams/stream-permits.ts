/**
 * Permits of streams: who may open a stream to which service, how many at once, and when access ends. A
 * permit is itself a stream, of lines of JSON, to where the relay of the bytes runs (stream-session.ts). No
 * bytes of the stream pass here.
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { STREAM_VERSION } from '../../../shared/protocol/version.ts';
import type { AuditEntry } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { ACCESS_ENDED, type StreamSubscriber, streamRefusal } from '../../core/streams/stream-subscriber.ts';
import type { Db } from '../../store/db/db.ts';
import type { Agents } from '../agents/agents.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';
import type { Clock } from '../ports.ts';
import type { Turns } from '../turns.ts';
import { accountReader } from './account-reader.ts';
import { type Subscription, Subscriptions } from './subscriptions.ts';

/**
 * The lines of a permit: where the service runs, and then, if access ends, why. Empty lines are heartbeats.
 */
export type PermitLine =
  | { key: ServiceKey; hostId: number; gateway: GatewayAddress | null }
  | { ended: string };

/** How often credentials are checked again. */
const REVIEW_INTERVAL_MS = 60_000;

export class StreamPermits {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #agents: Agents;
  readonly #clock: Clock;
  readonly #permits = new Subscriptions<Permit>({ what: 'streams', perUser: 50, inTotal: 1_000 });
  #isReviewScheduled = false;

  constructor(db: Db, turns: Turns, agents: Agents, clock: Clock) {
    this.#db = db;
    this.#turns = turns;
    this.#agents = agents;
    this.#clock = clock;
  }

  get size(): number {
    return this.#permits.size;
  }

  get maxSize(): number {
    return this.#permits.maxSize;
  }

  /**
   * Throws OperationError if the service can't be reached now. The entry of the audit log is committed
   * before.
   */
  async open(
    subscriber: StreamSubscriber,
    serviceId: number,
    entry: AuditEntry,
  ): Promise<ReadableStream<Uint8Array>> {
    const place = await this.#turns.update((cluster, nowMs) => {
      const found = this.#locate(cluster, serviceId);
      this.#permits.assertAllowed(subscriber, cluster);
      cluster.changes.audited.push({ entry: { ...entry, targetId: serviceId }, timeMs: nowMs });
      return found;
    });
    // Others may have been opened during the commit.
    this.#permits.assertAllowed(subscriber, this.#turns.cluster);
    const permit: Permit = new Permit(subscriber, () => this.#permits.delete(permit));
    this.#permits.add(permit);
    permit.send(place);
    this.#scheduleReview();
    // The credential may have ended since the request was authorised.
    void this.review(subscriber.userId);
    return permit.stream;
  }

  /** The changes of a turn are committed. */
  changed(cluster: Cluster): void {
    for (const permit of this.#permits.withStaleCredentials(cluster)) permit.end(ACCESS_ENDED);
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

  #locate(cluster: Cluster, serviceId: number): PermitLine {
    const service = cluster.services.get(serviceId);
    if (!service?.containerId || service.hostId === null || service.exit || service.status === 'inactive')
      throw new OperationError('conflict', 'The service is not running.');
    const { hostId, generation } = service;
    const host = cluster.hosts.get(hostId)?.name ?? hostId;
    const session = this.#agents.session(hostId);
    if (!session)
      throw new OperationError('unavailable', `Host ${host} is not connected. Try again when it is.`);
    if (session.version < STREAM_VERSION)
      throw new OperationError(
        'unavailable',
        `The agent of host ${host} is too old for streams (protocol version ${session.version}, required ${STREAM_VERSION}). Update the agent.`,
      );
    const { logs } = session.peer;
    const gateway = 'gateway' in logs ? logs : null;
    return { key: { service: serviceId, generation }, hostId, gateway };
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

class Permit implements Subscription {
  readonly stream: ReadableStream<Uint8Array>;
  readonly subscriber: StreamSubscriber;
  readonly #done: () => void;
  #controller: ReadableByteStreamController | undefined;

  constructor(subscriber: StreamSubscriber, done: () => void) {
    this.subscriber = subscriber;
    this.#done = done;
    // workerd passes only byte streams from a Durable Object.
    this.stream = new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#finish(),
      },
      { highWaterMark: 1 },
    );
  }

  send(line: PermitLine): void {
    this.#controller?.enqueue(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  }

  heartbeat(): void {
    this.#controller?.enqueue(new TextEncoder().encode('\n'));
  }

  end(reason: string): void {
    const controller = this.#controller;
    this.send({ ended: reason });
    this.#finish();
    controller?.close();
    controller?.byobRequest?.respond(0);
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#done();
  }
}
