/**
 * Owns who reads which log, for as long as what let them in lets them in, and where the output of each service is: on its
 * host, as long as that is one.
 */
import { MAX_LOG_STREAMS } from '../../../shared/protocol/codec.ts';
import type { LogFormat } from '../../../shared/protocol/down.ts';
import type { Account } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { isOver } from '../../core/model/execution.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { LogPosition } from '../../core/streams/log-frames.ts';
import { type LogSubscriber, maySeeLog } from '../../core/streams/stream-subscriber.ts';
import { findAccountByCredential } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import { findLogLocation } from '../../store/executions/executions.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { Agents } from '../agents/agents.ts';
import type { Clock } from '../ports.ts';
import { readDatabase, type Turns } from '../turns.ts';
import { LogRelay, type LogSource } from './log-relay.ts';
import { Subscriptions } from './subscriptions.ts';

/** How often the subscriptions there are are looked at. */
const REVIEW_INTERVAL_MS = 60_000;

/** Where a service was started last, and how often it was. */
interface LogLocation {
  hostId: number | null;
  generation: number;
}

const locationOf = (service: LogLocation | undefined): LogLocation | undefined =>
  service && { hostId: service.hostId, generation: service.generation };

export class Logs {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #agents: Agents;
  readonly #clock: Clock;
  /** A page has up to 16 of them, and the agent of a host serves 256. */
  readonly #relays = new Subscriptions<LogRelay>({ what: 'logs', perUser: 100, inTotal: 1_000 });
  #isReviewScheduled = false;

  constructor(db: Db, turns: Turns, agents: Agents, clock: Clock) {
    this.#db = db;
    this.#turns = turns;
    this.#agents = agents;
    this.#clock = clock;
  }

  async open(
    subscriber: LogSubscriber,
    serviceId: number,
    format: LogFormat,
    from?: LogPosition,
  ): Promise<ReadableStream<Uint8Array>> {
    // A turn makes sure that the state is there; what it ends itself is not live any more.
    const live = await this.#turns.query(({ services }) => locationOf(services.get(serviceId)));
    const location = live ? null : await readDatabase(findLogLocation(this.#db, serviceId));
    // To one that has fallen behind it would look like an end.
    if (location && !location.hasEnded) {
      const message =
        'This control plane does not know the execution yet, or another one has taken over; try again.';
      throw new OperationError('unavailable', message);
    }
    if (
      location &&
      location.generation > 0 &&
      !this.#isRemoved(location) &&
      !this.#agents.session(location.hostId)
    ) {
      const message = `The log is on host ${location.hostName}, which is not connected; try again when its agent is back.`;
      throw new OperationError('unavailable', message);
    }
    const source = this.#sourceOf(serviceId, live ?? location ?? { hostId: null, generation: 0 });
    this.#relays.assertAllowed(subscriber, this.#turns.cluster);
    assertFreeStream(source().session, this.#turns.cluster);
    const relay = new LogRelay(subscriber, serviceId, format, source, () => this.#relays.delete(relay), from);
    this.#relays.add(relay);
    this.#scheduleReview();
    relay.update();
    return relay.stream;
  }

  /** Something has changed: subscriptions go on, or end. */
  update(): void {
    for (const relay of this.#relays.of(null)) relay.update();
  }

  /** What a turn has changed is committed. */
  changed(cluster: Cluster): void {
    for (const relay of this.#relays.withStaleCredentials(cluster)) relay.abort(accessRevoked());
  }

  /**
   * Breaks off those subscriptions of a user, or of all (null), who would not be let in any more. Of whom that can't be found
   * out now it is at the next review.
   */
  async review(userId: number | null): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const accounts = new Map<string, Promise<Account | undefined>>();
    const accountOf = ({ userId, credential }: LogSubscriber) => {
      const key = JSON.stringify([userId, credential]);
      const account = accounts.get(key) ?? findAccountByCredential(this.#db, userId, credential, nowMs);
      accounts.set(key, account);
      return account;
    };
    const reviews = this.#relays.of(userId).map(async (relay) => {
      if (!maySeeLog(relay.subscriber, await accountOf(relay.subscriber))) relay.abort(accessRevoked());
    });
    await Promise.allSettled(reviews);
  }

  /** Nobody here will ever know more of any log. */
  retired(): void {
    const message = 'Another control plane has taken over; it has the log.';
    for (const relay of this.#relays.of(null)) relay.abort(new OperationError('unavailable', message));
  }

  #scheduleReview(): void {
    if (this.#isReviewScheduled || this.#relays.size === 0) return;
    this.#isReviewScheduled = true;
    this.#clock.after(REVIEW_INTERVAL_MS, () => {
      this.#isReviewScheduled = false;
      for (const relay of this.#relays.of(null)) relay.heartbeat();
      // Who only waits hears of nothing else that another coordinator has taken over.
      this.#turns.confirmEpoch();
      void this.review(null);
      this.#scheduleReview();
    });
  }

  /** Tells where the output of a service is, now and after its end; `last` is where it was known to be last. */
  #sourceOf(serviceId: number, last: LogLocation): () => LogSource {
    let { hostId, generation } = last;
    return () => {
      // What is not committed is told nobody; after the commit all subscriptions are asked again.
      if (this.#turns.hasUncommittedChanges)
        return { generation, session: undefined, removed: false, final: false };
      const cluster = this.#turns.cluster;
      const service = cluster?.services.get(serviceId);
      // Between a lost state and its reload nothing is known, so nothing is final.
      let final = cluster !== undefined;
      if (service) {
        ({ hostId, generation } = service);
        const execution = cluster?.executions.get(service.executionId);
        final = execution !== undefined && isOver(execution, service);
      }
      const removed = this.#isRemoved({ hostId, generation });
      return { generation, session: this.#agents.session(hostId), removed, final };
    };
  }

  /** Whether its logs went with its host. */
  #isRemoved({ hostId }: LogLocation): boolean {
    return hostId !== null && this.#turns.cluster?.hosts.has(hostId) === false;
  }
}

/** Its agent would fail one more, and so break off what has begun. */
function assertFreeStream(session: AgentSession | undefined, cluster: Cluster | undefined): void {
  if (!session || session.openLogs < MAX_LOG_STREAMS) return;
  const name = cluster?.hosts.get(session.hostId)?.name ?? session.hostId;
  const message = `Too many logs of host ${name} are read at the moment; try again later.`;
  throw new OperationError('unavailable', message);
}

const accessRevoked = () =>
  new OperationError('unauthenticated', 'What let you read this log has changed or is over: log in again.');
