/**
 * Owns all executions, services and hosts while it runs: their single writer. This file is its face to the operations;
 * turns.ts has the order of things, agents.ts the hosts' side, core/ every decision. Knows neither Hono, workerd nor Node.
 */
import type { LogFormat } from '../../shared/protocol/down.ts';
import { noSuchExecution } from '../core/account.ts';
import type { AccountChange } from '../core/account-input.ts';
import type { Cluster } from '../core/cluster.ts';
import { type Decision, requestDeletion, requestEnd } from '../core/decision.ts';
import { type Grounds, type Pass, type Registration, register } from '../core/enrolment.ts';
import { OperationError } from '../core/errors.ts';
import { isEnded, isOver } from '../core/execution.ts';
import { type Explanation, explain, explainSubmission } from '../core/explain.ts';
import type { Host } from '../core/host.ts';
import type { SchedulingPolicy } from '../core/scheduling.ts';
import {
  type SchedulerState,
  type SchedulerSummary,
  schedulerStateOf,
  schedulerSummaryOf,
} from '../core/statistics.ts';
import { newExecution, type Submission } from '../core/submission.ts';
import { changeAccounts } from '../store/account-changes.ts';
import { loadExecution } from '../store/cluster-rows.ts';
import type { Db } from '../store/db.ts';
import { findLogPlace } from '../store/executions.ts';
import { findGrounds } from '../store/join-tokens.ts';
import type { Written } from '../store/settings-rows.ts';
import { Agents, type AgentsDeps } from './agents.ts';
import { LogRelay, type LogSource } from './log-relay.ts';
import type { AgentSocket, Clock } from './ports.ts';
import { Proofs } from './proofs.ts';
import type { Session } from './session.ts';
import { Turns } from './turns.ts';

/** What operations ask of the coordinator. Every method rejects with OperationError, and with nothing else. */
export interface Coordination {
  /** Resolves when it has its state and can take work. */
  ready(): Promise<void>;
  /** Resolves to the id of the execution once it is committed. */
  submit(submission: Submission): Promise<number>;
  /** Resolves once the end is committed; containers may still be going. */
  terminate(executionId: number): Promise<void>;
  /** Hides the execution at once; it is terminated first where it has not ended. */
  remove(executionId: number): Promise<void>;
  /** Output of a service from its first byte; ends when no more will come. */
  openLog(serviceId: number, format: LogFormat): Promise<ReadableStream<Uint8Array>>;
  /** Changes a user or a quota; resolves, once committed, to what became of it. Every later decision goes by it. */
  changeAccounts(change: AccountChange): Promise<Written>;
  /** Makes a host, or finds the one that this registration has made already; resolves to its id once that is committed. */
  registerHost(registration: Registration): Promise<number>;
  /** What waits, runs and ends, and how full the hosts are. */
  state(): Promise<SchedulerState>;
  /** The same in a few numbers. */
  summary(): Promise<SchedulerSummary>;
  /** Why an execution is where it is; null where it has ended. */
  explain(executionId: number): Promise<Explanation | null>;
  /** What would become of it now, were it submitted. */
  explainSubmission(submission: Submission): Promise<Explanation>;
  /** What the host of a service does towards its start; empty where nobody said, and where it does not start. */
  progress(serviceId: number): Promise<string>;
}

export interface CoordinatorDeps extends AgentsDeps {
  db: Db;
  scheduling: SchedulingPolicy;
}

export class Coordinator implements Coordination {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #proofs = new Proofs();
  readonly #turns: Turns;
  readonly #agents: Agents;
  /** Log readers by service id. */
  readonly #relays = new Map<number, Set<LogRelay>>();

  constructor(deps: CoordinatorDeps) {
    const { db, clock, log, scheduling } = deps;
    this.#db = db;
    this.#clock = clock;
    this.#turns = new Turns(db, clock, log, scheduling, {
      committed: (decisions, cluster) => this.#committed(decisions, cluster),
      lost: () => this.#agents.dropAll(),
    });
    this.#agents = new Agents(this.#turns, deps);
  }

  /** Takes up the work: reads the state and goes on with what is due. Also called whenever the clock's time comes. */
  wake(): void {
    this.#turns.wake();
  }

  /** Takes note that a proof has let its host in; throws OperationError where it did before. */
  admit(pass: Pass): void {
    this.#proofs.use(pass, this.#clock.nowMs());
  }

  /** Takes a connection of the host, which has proved that it is. */
  connect(socket: AgentSocket, hostId: number): Session {
    return this.#agents.connect(socket, hostId);
  }

  async ready(): Promise<void> {
    if (!this.#turns.cluster) await this.#turn(() => {});
  }

  submit(submission: Submission): Promise<number> {
    return this.#turn((cluster, nowMs) => {
      checkUser(cluster, submission);
      const execution = newExecution(cluster.nextIds, submission, nowMs);
      cluster.addExecution(execution);
      cluster.changes.newExecutions.add(execution);
      return execution.id;
    });
  }

  terminate(executionId: number): Promise<void> {
    return this.#turn((cluster, nowMs) => {
      const execution = cluster.executions.get(executionId);
      if (execution?.deleted) throw noSuchExecution();
      // The caller has seen it: what is not live any more has ended.
      if (!execution) throw new OperationError('conflict', 'The execution has already ended.');
      requestEnd(cluster, execution, nowMs);
    });
  }

  async remove(executionId: number): Promise<void> {
    const ended = this.#turns.cluster?.executions.has(executionId)
      ? undefined
      : await reading(loadExecution(this.#db, executionId));
    return this.#turn((cluster, nowMs) => {
      const execution = cluster.executions.get(executionId) ?? ended;
      if (!execution || execution.deleted) throw noSuchExecution();
      if (!cluster.executions.has(execution.id)) {
        if (!isEnded(execution))
          throw new OperationError('unavailable', 'The execution is changing; try again.');
        cluster.addExecution(execution);
      }
      requestDeletion(cluster, execution, nowMs);
    });
  }

  async openLog(serviceId: number, format: LogFormat): Promise<ReadableStream<Uint8Array>> {
    // A turn makes sure that the state is there.
    const live = await this.#turn((cluster) => cluster.services.has(serviceId));
    const place = live ? null : await reading(findLogPlace(this.#db, serviceId));
    if (place && place.generation > 0 && !this.#agents.session(place.hostId)) {
      const message = `The log is on host ${place.hostName}, which is not connected; try again when its agent is back.`;
      throw new OperationError('unavailable', message);
    }
    const source = this.#sourceOf(serviceId, place ?? { hostId: null, generation: 0 });
    const relay = new LogRelay(serviceId, format, source, () => this.#dropRelay(serviceId, relay));
    const relays = this.#relays.get(serviceId) ?? new Set();
    this.#relays.set(serviceId, relays.add(relay));
    relay.update();
    return relay.stream;
  }

  changeAccounts(change: AccountChange): Promise<Written> {
    return new Promise((resolve, reject) => {
      let written: Written;
      this.#turns.take({
        prepare: async ({ epoch, cluster }) => {
          written = await changeAccounts(this.#db, epoch, cluster, change);
        },
        run: () => {},
        done: () => resolve(written),
        fail: reject,
      });
    });
  }

  registerHost(registration: Registration): Promise<number> {
    const { tokenHash, publicKey } = registration;
    return new Promise((resolve, reject) => {
      let grounds: Grounds;
      let host: Host;
      this.#turns.take({
        prepare: async () => {
          grounds = await findGrounds(this.#db, tokenHash, publicKey);
        },
        run: (cluster, nowMs) => {
          host = register(cluster, registration, grounds, nowMs);
        },
        done: () => resolve(host.id),
        fail: reject,
      });
    });
  }

  state(): Promise<SchedulerState> {
    return this.#look(schedulerStateOf);
  }

  summary(): Promise<SchedulerSummary> {
    return this.#look(schedulerSummaryOf);
  }

  explain(executionId: number): Promise<Explanation | null> {
    return this.#look((cluster, nowMs) => {
      const execution = cluster.executions.get(executionId);
      if (execution?.deleted) throw noSuchExecution();
      return execution ? explain(cluster, execution, nowMs) : null;
    });
  }

  progress(serviceId: number): Promise<string> {
    return this.#look(({ services }) => {
      const service = services.get(serviceId);
      return service?.status === 'starting' ? service.preparing : '';
    });
  }

  explainSubmission(submission: Submission): Promise<Explanation> {
    return this.#look((cluster, nowMs) => {
      checkUser(cluster, submission);
      // With the ids that it would get, and which stay for who comes next.
      return explainSubmission(cluster, newExecution({ ...cluster.nextIds }, submission, nowMs), nowMs);
    });
  }

  /** Tells where the output of a service is, now and after its end; `last` is where it was known to be last. */
  #sourceOf(serviceId: number, last: { hostId: number | null; generation: number }): () => LogSource {
    let { hostId, generation } = last;
    return () => {
      const cluster = this.#turns.cluster;
      const service = cluster?.services.get(serviceId);
      // Between a lost state and its reload nothing is known, so nothing is final.
      let final = cluster !== undefined;
      if (service) {
        ({ hostId, generation } = service);
        const execution = cluster?.executions.get(service.executionId);
        final = execution !== undefined && isOver(execution, service);
      }
      return { generation, session: this.#agents.session(hostId), final };
    };
  }

  #dropRelay(serviceId: number, relay: LogRelay): void {
    const relays = this.#relays.get(serviceId);
    relays?.delete(relay);
    if (relays?.size === 0) this.#relays.delete(serviceId);
  }

  #committed(decisions: readonly Decision[], cluster: Cluster): void {
    this.#agents.tell(decisions, cluster);
    for (const relays of this.#relays.values()) for (const relay of relays) relay.update();
  }

  /** Runs `change` in a turn and resolves to its result once that is committed. */
  #turn<T>(change: (cluster: Cluster, nowMs: number) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let result: T;
      this.#turns.take({
        run: (cluster, nowMs) => {
          result = change(cluster, nowMs);
        },
        done: () => resolve(result),
        fail: reject,
      });
    });
  }

  /** Looks at the state when a turn has decided all there was to decide. Needs no commit where nothing changed. */
  #look<T>(look: (cluster: Cluster, nowMs: number) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#turns.take({
        run: () => {},
        done: (cluster, nowMs) => {
          try {
            resolve(look(cluster, nowMs));
          } catch (error) {
            reject(error);
          }
        },
        fail: reject,
      });
    });
  }
}

/** Whoever was known when the request came may have been deleted or disabled since. */
function checkUser(cluster: Cluster, { userId }: Submission): void {
  if (!cluster.users.get(userId)?.enabled)
    throw new OperationError('unauthenticated', 'The user has been deleted or disabled.');
}

/** Coordination promises its callers one kind of error. */
async function reading<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (cause) {
    throw new OperationError('unavailable', 'The database does not answer; try again later.', { cause });
  }
}
