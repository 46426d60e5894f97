/**
 * Owns the coordinator on workerd: one Durable Object a deployment, agents on hibernatable WebSockets, the alarm as its
 * clock. Its own storage holds nothing but the alarm; all state is in libSQL.
 */
import { DurableObject } from 'cloudflare:workers';
import { closeCodes } from '../../../shared/protocol/close.ts';
import type { LogFormat } from '../../../shared/protocol/down.ts';
import { assemble, type WorkerEnv } from '../../assembly.ts';
import type { AccountChange } from '../../core/accounts/account-input.ts';
import type { Allowance } from '../../core/accounts/quota.ts';
import type { HostChanges, HostRemoval } from '../../core/hosts/drain.ts';
import type { Registration, VerifiedProof } from '../../core/hosts/registration.ts';
import type { Submission } from '../../core/lifecycle/submission.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { EventSubscriber } from '../../core/streams/events.ts';
import type { LogPosition } from '../../core/streams/log-frames.ts';
import type { LogSubscriber } from '../../core/streams/stream-subscriber.ts';
import type { Explanation } from '../../core/views/explanation.ts';
import type { HostDetail, HostView } from '../../core/views/host-view.ts';
import type { ClusterOverview, OverviewSearch, UserUsage } from '../../core/views/overview.ts';
import type { SchedulerState, SchedulerSummary } from '../../core/views/statistics.ts';
import type { WriteOutcome } from '../../store/accounts/account-writes.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import { Coordinator } from '../coordinator.ts';
import type { CoordinatorApi } from '../coordinator-api.ts';
import type { AgentSocket } from '../ports.ts';
import { PROOF_HEADER, type Rejection } from './forward-upgrade.ts';
import { ObjectAlarm } from './object-alarm.ts';

/** Errors lose their class between a Durable Object and its caller, so they travel as values. */
type Outcome<T> = { value: T } | (Rejection & { retryAfterS?: number });

export class CoordinatorObject extends DurableObject<WorkerEnv> {
  readonly #coordinator: Coordinator;
  readonly #sessions = new Map<WebSocket, AgentSession>();
  readonly #prepared: () => Promise<void>;
  readonly #alarm: ObjectAlarm;

  constructor(ctx: DurableObjectState, env: WorkerEnv) {
    super(ctx, env);
    const { config, scheduling, db, log, prepare } = assemble(env);
    this.#prepared = prepare;
    this.#alarm = new ObjectAlarm(ctx.storage, log, () => Date.now());
    this.#coordinator = new Coordinator({
      db,
      log,
      deploymentName: config.BERTH_DEPLOYMENT_NAME,
      scheduling,
      unknownContainers: config.BERTH_UNKNOWN_CONTAINERS,
      clock: {
        nowMs: () => Date.now(),
        wakeAt: (timeMs) => this.#alarm.set(timeMs),
        defer: (turn) => setTimeout(turn, 0),
        after: (delayMs, run) => setTimeout(run, delayMs),
      },
    });
    // Whoever was connected to an earlier life of this object says hello again: nothing else tells what it knows.
    for (const socket of ctx.getWebSockets()) socket.close(closeCodes.resync.code, 'coordinator restarted');
  }

  /** An agent's upgrade request, from connectTo. */
  override async fetch(request: Request): Promise<Response> {
    const pass = JSON.parse(request.headers.get(PROOF_HEADER) ?? '') as VerifiedProof;
    const admitted = await this.#outcome(async () => this.#coordinator.admit(pass));
    if ('code' in admitted) return Response.json(admitted);
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    const agentSocket: AgentSocket = {
      send: (data) => server.send(data),
      close: (code, reason) => server.close(code, reason),
    };
    const session = this.#coordinator.connect(agentSocket, pass.hostId);
    this.#sessions.set(server, session);
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): void {
    this.#sessions.get(socket)?.receive(typeof data === 'string' ? data : new Uint8Array(data));
  }

  override webSocketClose(socket: WebSocket): void {
    this.#sessions.get(socket)?.closed();
    this.#sessions.delete(socket);
    // Nothing else answers an agent's close, and it waits for that. A code of its own may be one that can't be sent.
    socket.close(1000);
  }

  override webSocketError(socket: WebSocket): void {
    this.#sessions.get(socket)?.closed();
    this.#sessions.delete(socket);
  }

  override alarm(): Promise<void> {
    return this.#alarm.ring(this.#prepared, () => this.#coordinator.wake());
  }

  ready(): Promise<Outcome<void>> {
    return this.#outcome((coordinator) => coordinator.ready());
  }

  submit(submission: Submission): Promise<Outcome<number>> {
    return this.#outcome((coordinator) => coordinator.submit(submission));
  }

  terminate(executionId: number): Promise<Outcome<void>> {
    return this.#outcome((coordinator) => coordinator.terminate(executionId));
  }

  remove(executionId: number): Promise<Outcome<void>> {
    return this.#outcome((coordinator) => coordinator.remove(executionId));
  }

  openLog(
    reader: LogSubscriber,
    serviceId: number,
    format: LogFormat,
    from?: LogPosition,
  ): Promise<Outcome<ReadableStream<Uint8Array>>> {
    return this.#outcome((coordinator) => coordinator.openLog(reader, serviceId, format, from));
  }

  openEvents(reader: EventSubscriber): Promise<Outcome<ReadableStream<Uint8Array>>> {
    return this.#outcome((coordinator) => coordinator.openEvents(reader));
  }

  lastEventId(): Promise<Outcome<string | null>> {
    return this.#outcome((coordinator) => coordinator.lastEventId());
  }

  reviewReaders(userId: number | null): Promise<Outcome<void>> {
    return this.#outcome((coordinator) => coordinator.reviewSubscriptions(userId));
  }

  changeAccounts(change: AccountChange): Promise<Outcome<WriteOutcome>> {
    return this.#outcome((coordinator) => coordinator.changeAccounts(change));
  }

  registerHost(registration: Registration): Promise<Outcome<number>> {
    return this.#outcome((coordinator) => coordinator.registerHost(registration));
  }

  state(): Promise<Outcome<SchedulerState>> {
    return this.#outcome((coordinator) => coordinator.state());
  }

  summary(): Promise<Outcome<SchedulerSummary>> {
    return this.#outcome((coordinator) => coordinator.summary());
  }

  explain(executionId: number): Promise<Outcome<Explanation | null>> {
    return this.#outcome((coordinator) => coordinator.explain(executionId));
  }

  explainSubmission(submission: Submission): Promise<Outcome<Explanation>> {
    return this.#outcome((coordinator) => coordinator.explainSubmission(submission));
  }

  allowance(userId: number): Promise<Outcome<Allowance>> {
    return this.#outcome((coordinator) => coordinator.allowance(userId));
  }

  progress(serviceIds: readonly number[]): Promise<Outcome<string[]>> {
    return this.#outcome((coordinator) => coordinator.progress(serviceIds));
  }

  hosts(): Promise<Outcome<HostView[]>> {
    return this.#outcome((coordinator) => coordinator.hosts());
  }

  host(hostId: number): Promise<Outcome<HostDetail>> {
    return this.#outcome((coordinator) => coordinator.host(hostId));
  }

  overview(search: OverviewSearch): Promise<Outcome<ClusterOverview>> {
    return this.#outcome((coordinator) => coordinator.overview(search));
  }

  usages(): Promise<Outcome<UserUsage[]>> {
    return this.#outcome((coordinator) => coordinator.usages());
  }

  changeHost(hostId: number, changes: HostChanges): Promise<Outcome<void>> {
    return this.#outcome((coordinator) => coordinator.changeHost(hostId, changes));
  }

  removeHost(hostId: number, force: boolean): Promise<Outcome<HostRemoval>> {
    return this.#outcome((coordinator) => coordinator.removeHost(hostId, force));
  }

  async #outcome<T>(run: (coordinator: CoordinatorApi) => Promise<T>): Promise<Outcome<T>> {
    try {
      await this.#prepared();
      return { value: await run(this.#coordinator) };
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      const { code, message, retryAfterS } = error;
      return { code, message, ...(retryAfterS !== undefined && { retryAfterS }) };
    }
  }
}

/** The coordinator as the worker's operations see it. */
export function coordinatorClient(stub: DurableObjectStub<CoordinatorObject>): CoordinatorApi {
  const unwrap = async <T>(call: Promise<Outcome<T>>): Promise<T> => {
    let outcome: Outcome<T>;
    try {
      outcome = await call;
    } catch (cause) {
      throw new OperationError('unavailable', 'The coordinator does not answer; try again.', { cause });
    }
    if ('value' in outcome) return outcome.value;
    const { code, message, ...options } = outcome;
    throw new OperationError(code, message, options);
  };
  return {
    ready: () => unwrap(stub.ready()),
    submit: (submission) => unwrap(stub.submit(submission)),
    terminate: (id) => unwrap(stub.terminate(id)),
    remove: (id) => unwrap(stub.remove(id)),
    openLog: (reader, id, format, from) => unwrap(stub.openLog(reader, id, format, from)),
    openEvents: (reader) => unwrap(stub.openEvents(reader)),
    lastEventId: () => unwrap(stub.lastEventId()),
    reviewSubscriptions: (userId) => unwrap(stub.reviewReaders(userId)),
    changeAccounts: (change) => unwrap(stub.changeAccounts(change)),
    registerHost: (registration) => unwrap(stub.registerHost(registration)),
    state: () => unwrap(stub.state()),
    summary: () => unwrap(stub.summary()),
    explain: (id) => unwrap(stub.explain(id)),
    explainSubmission: (submission) => unwrap(stub.explainSubmission(submission)),
    allowance: (userId) => unwrap(stub.allowance(userId)),
    progress: (ids) => unwrap(stub.progress(ids)),
    hosts: () => unwrap(stub.hosts()),
    host: (id) => unwrap(stub.host(id)),
    overview: (search) => unwrap(stub.overview(search)),
    usages: () => unwrap(stub.usages()),
    changeHost: (id, changes) => unwrap(stub.changeHost(id, changes)),
    removeHost: (id, force) => unwrap(stub.removeHost(id, force)),
  };
}
