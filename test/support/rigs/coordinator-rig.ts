/** A coordinator on a database in memory for tests, with its clock and its agents. */
import { Coordinator } from '../../../control-plane/coordinator/coordinator.ts';
import type { OpenLog } from '../../../control-plane/coordinator/coordinator-api.ts';
import { idCode } from '../../../control-plane/coordinator/runtime/id-code.ts';
import type { SavedCoordinator } from '../../../control-plane/coordinator/sleep/saved-state.ts';
import { ownLogs, serviceLogs } from '../../../control-plane/coordinator/streams/service-logs.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { newHost } from '../../../control-plane/core/model/host.ts';
import type { Made, RequestKey } from '../../../control-plane/core/model/idempotency.ts';
import {
  defaultSchedulerConfig,
  type SchedulerConfig,
} from '../../../control-plane/core/model/scheduler-config.ts';
import type { LogSubscriber } from '../../../control-plane/core/streams/channel-subscriber.ts';
import { ReadTurns } from '../../../control-plane/guard/read-turns.ts';
import { UserShares } from '../../../control-plane/guard/user-shares.ts';
import { Passwords } from '../../../control-plane/operations/passwords/passwords.ts';
import { Seal } from '../../../control-plane/operations/secrets/seal.ts';
import { insertHost } from '../../../control-plane/store/cluster/host-rows.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import type { ClaimTerms } from '../../../control-plane/store/db/epoch.ts';
import { findExecution } from '../../../control-plane/store/executions/executions.ts';
import type { Application } from '../../../shared/application-schema.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import type { HostFacts, Observation } from '../../../shared/protocol/up.ts';
import { ModelAgent } from '../agents/model-agent.ts';
import { application } from '../fixtures/applications.ts';
import { FaultyDb, testDatabase } from '../hosts/memory-database.ts';
import { running } from './core-rig.ts';
import { TestClock } from './test-clock.ts';

/** Id of the host `one`, which is registered. */
export const HOST_ID = 1;

/** User 1, who reads the logs of their own executions. */
export const owner: LogSubscriber = {
  userId: 1,
  credentialVersion: 1,
  credential: { by: 'password' },
  ownerId: 1,
  use: { kind: 'read-execution' },
};

export class CoordinatorRig {
  /** The database itself, to inspect it without the simulated failures. */
  readonly memory: Db;
  readonly db: FaultyDb;
  readonly clock = new TestClock();
  /** The coordinator's log lines. */
  readonly logged: string[] = [];
  coordinator: Coordinator;
  /** Prepares the database before a coordinator takes over. */
  prepare: () => Promise<void> = async () => {};

  readonly #scheduling: Partial<SchedulerConfig>;
  /** Days for which ended executions are kept; undefined: what the database records. */
  readonly #keepEndedDays: number | undefined;

  constructor(memory: Db, scheduling: Partial<SchedulerConfig> = {}, keepEndedDays?: number) {
    this.memory = memory;
    this.#scheduling = scheduling;
    this.#keepEndedDays = keepEndedDays;
    this.db = new FaultyDb(memory);
    this.coordinator = this.#make();
  }

  /** Until the test ends. */
  static async open(
    scheduling: Partial<SchedulerConfig> = {},
    keepEndedDays?: number,
    url?: string,
  ): Promise<CoordinatorRig> {
    const memory = await testDatabase(url);
    await memory.batch([insertHost(newHost(HOST_ID, 'one', 0))]);
    return new CoordinatorRig(memory, scheduling, keepEndedDays);
  }

  /** A new coordinator takes over; the old one is left unchanged. */
  restart(resumes?: SavedCoordinator, claim?: ClaimTerms): void {
    this.coordinator = this.#make(resumes, claim);
    this.coordinator.wake();
  }

  /** Lets time pass, after which the alarm rings. */
  pass(ms: number): void {
    this.clock.pass(ms);
    this.coordinator.wake();
  }

  /** The outcome of a request while the database fails in this way. */
  async codeWhile(failing: FaultyDb['failing'], request: () => Promise<unknown>): Promise<string> {
    this.db.failing = failing;
    const code = await codeOf(request());
    this.db.failing = 'no';
    return code;
  }

  async submit(description: Application = application(), name = 'run', userId = 1): Promise<number> {
    return (await this.submitOnce(undefined, description, name, userId)).id;
  }

  submitOnce(
    key: RequestKey | undefined,
    description: Application = application(),
    name = 'run',
    userId = 1,
  ): Promise<Made> {
    const submission = { userId, name, application: description, description: JSON.stringify(description) };
    return this.coordinator.submit(submission, undefined, key);
  }

  addUser(id: number, roleId = 1): Promise<unknown> {
    const sql = `INSERT INTO users
      (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
      VALUES (?, ?, '', ?, 1, 'internal', 1000, 0, 1)`;
    return this.memory.batch([{ sql, args: [id, `user-${id}`, roleId] }]);
  }

  /** What operations need beside the coordinator. */
  get operations() {
    return {
      db: this.memory,
      openLog: this.logsOf(),
      passwords: new Passwords(),
      deploymentName: 'test',
      minPasswordLength: 10,
      turns: new ReadTurns(Date.now),
      shares: new UserShares(Date.now),
      seal: new Seal([]),
      nowMs: () => this.clock.nowMs(),
    };
  }

  /** Opens logs through a coordinator: by default this one. */
  logsOf(coordinator = this.coordinator): OpenLog {
    return serviceLogs({
      place: (request) => coordinator.place(request),
      logsAt: ownLogs(coordinator.agents),
    });
  }

  openLog(service: number, subscriber: Partial<LogSubscriber> = {}): Promise<ReadableStream<Uint8Array>> {
    return this.logsOf()({ ...owner, ...subscriber }, service, 'raw');
  }

  agent(facts: Partial<HostFacts> = {}, hostId = HOST_ID): ModelAgent {
    return new ModelAgent(this.coordinator, hostId, facts);
  }

  /** An agent joins and receives the start of an execution with one service. */
  async starts(): Promise<{ agent: ModelAgent; id: number; start: Assignment }> {
    const agent = await this.agent().join();
    const id = await this.submit();
    return { agent, id, start: await agent.started() };
  }

  /** The same, and the agent has reported that the service runs. */
  async runs(): ReturnType<CoordinatorRig['starts']> {
    const all = await this.starts();
    await all.agent.reportEach(all.start, running);
    return all;
  }

  async statusOf(id: number): Promise<string | undefined> {
    return (await findExecution(this.memory, id))?.status;
  }

  #make(resumes?: SavedCoordinator, claim?: ClaimTerms): Coordinator {
    return new Coordinator({
      resumes,
      claim: { prepare: () => this.prepare(), ...claim },
      db: this.db,
      clock: this.clock,
      log: (event, fields) => this.logged.push(`${event} ${JSON.stringify(fields ?? {})}`),
      idCode,
      deploymentName: 'test',
      scheduling: { ...defaultSchedulerConfig, ...this.#scheduling },
      ...(this.#keepEndedDays !== undefined && { keepEndedDays: this.#keepEndedDays }),
    });
  }
}

export const seen = ({ service, generation }: Assignment, what: object) =>
  ({ ...what, service, generation }) as Observation;

/** The outcome of a request: `fulfilled`, or the code of its error. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'fulfilled',
    (error) => (error instanceof OperationError ? error.code : String(error)),
  );
