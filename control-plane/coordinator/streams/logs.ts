/** Log streams: who may read which log, for how long, and which host has the output of a service. */
import { MAX_LOG_STREAMS } from '../../../shared/protocol/codec.ts';
import type { LogFormat, LogPart } from '../../../shared/protocol/down.ts';
import { OperationError } from '../../core/model/errors.ts';
import { isOver } from '../../core/model/execution.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { LogPosition } from '../../core/streams/log-frames.ts';
import { type LogSubscriber, maySeeLog } from '../../core/streams/stream-subscriber.ts';
import type { Db } from '../../store/db/db.ts';
import { findLogLocation } from '../../store/executions/executions.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { Agents } from '../agents/agents.ts';
import type { Clock } from '../ports.ts';
import { readDatabase } from '../turn-inputs.ts';
import type { Turns } from '../turns.ts';
import { accountReader } from './account-reader.ts';
import { LogRelay } from './log-relay.ts';
import type { LogReader, LogState } from './log-state.ts';
import { LogWatch, type WatchedLog } from './log-watch.ts';
import { Subscriptions } from './subscriptions.ts';

/** How often open logs are re-checked, and receive a heartbeat. */
const REVIEW_INTERVAL_MS = 60_000;

/** The host of a service's last start, and the number of its starts. */
interface LogLocation {
  executionId: number;
  hostId: number | null;
  generation: number;
}

const locationOf = (service: LogLocation | undefined): LogLocation | undefined =>
  service && { executionId: service.executionId, hostId: service.hostId, generation: service.generation };

export class Logs {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #agents: Agents;
  readonly #clock: Clock;
  /** A page opens up to 16 logs, and the agent of a host serves 256 (STREAM-5). */
  readonly #readers = new Subscriptions<LogReader>({ what: 'logs', perUser: 100, inTotal: 1_000 });
  #isReviewScheduled = false;

  constructor(db: Db, turns: Turns, agents: Agents, clock: Clock) {
    this.#db = db;
    this.#turns = turns;
    this.#agents = agents;
    this.#clock = clock;
  }

  /** Number of open logs. */
  get size(): number {
    return this.#readers.size;
  }

  get maxSize(): number {
    return this.#readers.maxSize;
  }

  async open(
    subscriber: LogSubscriber,
    serviceId: number,
    format: LogFormat,
    from?: LogPosition,
    part: LogPart = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const state = this.#stateOf(serviceId, await this.#locate(serviceId));
    this.#readers.assertAllowed(subscriber, this.#turns.cluster);
    assertFreeStream(state().session, this.#turns.cluster);
    assertPartThere(state(), part);
    const source = () => {
      const { session, final, ...rest } = state();
      const logs = session?.peer.logs;
      const isOver = part.follow === false && !this.#turns.hasUncommittedChanges;
      return { ...rest, final: final || isOver, server: logs && 'openLog' in logs ? logs : undefined };
    };
    const relay: LogRelay = new LogRelay(
      subscriber,
      serviceId,
      format,
      source,
      () => this.#readers.delete(relay),
      from,
      undefined,
      part,
    );
    this.#begin(relay);
    return relay.stream;
  }

  /** Streams where the log of the service is (log-watch.ts), for a subscriber that reads it from gateways. */
  async watch(
    subscriber: LogSubscriber,
    serviceId: number,
    part: LogPart = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const state = this.#stateOf(serviceId, await this.#locate(serviceId));
    this.#readers.assertAllowed(subscriber, this.#turns.cluster);
    assertPartThere(state(), part);
    const committed = () => (this.#turns.hasUncommittedChanges ? undefined : state());
    const addressOf = (session: AgentSession) => this.#addressOf(session);
    const watch: LogWatch = new LogWatch(subscriber, committed, addressOf, () => this.#readers.delete(watch));
    this.#begin(watch);
    return watch.stream;
  }

  #addressOf(session: AgentSession): WatchedLog['at'] {
    const { logs } = session.peer;
    return 'gateway' in logs ? { ...logs, host: nameOf(session, this.#turns.cluster) } : null;
  }

  #begin(reader: LogReader): void {
    this.#readers.add(reader);
    this.#scheduleReview();
    reader.update();
  }

  /** The state has changed: each log continues or ends. */
  update(): void {
    for (const reader of this.#readers.of(null)) reader.update();
  }

  /** The changes of a turn are committed. */
  changed(cluster: Cluster): void {
    for (const reader of this.#readers.withStaleCredentials(cluster)) revoke(reader);
  }

  /**
   * Aborts the logs of a user (null: of all users) whose subscribers have lost access. If the database cannot
   * be read, the next review decides.
   */
  async review(userId: number | null): Promise<void> {
    const accountOf = accountReader(this.#db, this.#clock.nowMs());
    const reviews = this.#readers.of(userId).map(async (reader) => {
      if (!maySeeLog(reader.subscriber, await accountOf(reader.subscriber))) revoke(reader);
    });
    await Promise.allSettled(reviews);
  }

  /** Another coordinator has taken over; this one learns no more about any log. */
  retired(): void {
    const message = 'Another control plane has taken over. Read the log from that one.';
    for (const reader of this.#readers.of(null)) reader.abort(new OperationError('unavailable', message));
  }

  /** Throws if the output of the service can't be read now. */
  async #locate(serviceId: number): Promise<LogLocation> {
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

  #scheduleReview(): void {
    if (this.#isReviewScheduled || this.#readers.size === 0) return;
    this.#isReviewScheduled = true;
    this.#clock.after(REVIEW_INTERVAL_MS, () => {
      this.#isReviewScheduled = false;
      for (const reader of this.#readers.of(null)) reader.heartbeat();
      // Without other work, only this reveals that another coordinator has taken over.
      this.#turns.confirmEpoch();
      void this.review(null);
      this.#scheduleReview();
    });
  }

  /**
   * Returns the current state of a service's log, even after its execution has ended. `last` is its last
   * known location.
   */
  #stateOf(serviceId: number, last: LogLocation): () => LogState {
    const { executionId } = last;
    let { hostId, generation } = last;
    return () => {
      // Uncommitted state must not be sent. All readers are updated after the commit.
      if (this.#turns.hasUncommittedChanges)
        return { generation, session: undefined, removed: false, final: false };
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
      return { generation, session: this.#agents.session(hostId), removed, away, final };
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
}

const nameOf = ({ hostId }: AgentSession, cluster: Cluster | undefined): string | number =>
  cluster?.hosts.get(hostId)?.name ?? hostId;

/** Throws if the host serves its maximum: the agent would refuse the stream after the response has begun. */
function assertFreeStream(session: AgentSession | undefined, cluster: Cluster | undefined): void {
  const logs = session?.peer.logs;
  if (!session || !logs || !('openLog' in logs) || logs.openLogs < MAX_LOG_STREAMS) return;
  throw noFreeStream(nameOf(session, cluster));
}

/** Throws if the host can't serve the part, which a reader who follows would wait for. */
function assertPartThere({ generation, removed, session }: LogState, { follow = true, tail }: LogPart): void {
  if (generation === 0 || removed || (follow && tail === undefined)) return;
  if (!session && !follow)
    throw new OperationError(
      'unavailable',
      'The log is on a host that is not connected. Try again when its agent has reconnected.',
    );
}

export const noFreeStream = (host: string | number): OperationError =>
  new OperationError(
    'unavailable',
    `Host ${host} already serves ${MAX_LOG_STREAMS} logs, which is the limit. Try again later.`,
  );

/**
 * A coordinator that has fallen behind would take an execution for an ended one, or a host for a removed one
 * (C122).
 */
const fallenBehind = () =>
  new OperationError(
    'unavailable',
    'This control plane has not loaded the execution, or another one has taken over. Try again.',
  );

function revoke(reader: LogReader): void {
  const { lastLine } = reader.subscriber;
  if (lastLine === undefined) reader.abort(accessRevoked());
  else reader.endWith(lastLine);
}

const accessRevoked = () =>
  new OperationError(
    'unauthenticated',
    'Your session or permissions have changed. Log in again to read this log.',
  );
