/**
 * Users of a simulation: they submit, terminate and delete executions and read logs. The checks receive every
 * answer.
 */
import type { KnownActor } from '../../../../control-plane/core/accounts/account.ts';
import type { Submission } from '../../../../control-plane/core/lifecycle/submission.ts';
import type { OperationError } from '../../../../control-plane/core/model/errors.ts';
import type { LogSubscriber } from '../../../../control-plane/core/streams/channel-subscriber.ts';
import type { Application } from '../../../../shared/application-schema.ts';
import { type AcknowledgementCheck, nameOfOnce } from '../checks/acknowledgements.ts';
import type { AuditCheck } from '../checks/audit.ts';
import { isEnded, type Ledger } from '../checks/ledger.ts';
import { type LogCheck, ReceivedLog } from '../checks/logs.ts';
import type { QueueBoundsCheck } from '../checks/queue-bounds.ts';
import type { ControlPlane } from '../plane/control-plane.ts';
import type { Requests } from '../plane/requests.ts';
import type { World } from '../world/time.ts';
import { applications, oversized, small } from './applications.ts';

export interface UsersOptions {
  world: World;
  ledger: Ledger;
  acknowledgements: AcknowledgementCheck;
  audit: AuditCheck;
  logs: LogCheck;
  requests: Requests;
  bounds: QueueBoundsCheck;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

export const USERS = [1, 2];
const FLOOD = 60;
/** One submission of so many has an idempotency key, and is repeated after these times in any case. */
const KEYED = 3;
/** One submission of so many has a time limit. */
const TIMED = 7;
const TIME_LIMIT_S = 20;
const REPEATS_MS = [0, 20, 4_000, 20_000];

const subscriber: LogSubscriber = {
  userId: 1,
  credentialVersion: 1,
  credential: { by: 'password' },
  ownerId: 1,
  use: { kind: 'read-execution' },
};

/** On whose behalf everything is submitted and deleted. */
export const administrator: KnownActor = {
  kind: 'user',
  credential: { by: 'password' },
  user: {
    ...{ id: 1, username: 'admin', email: '', roleId: 1, quotaId: 1, authSource: 'internal' },
    ...{ fsUid: 1_000, priority: 0, enabled: true, credentialVersion: 1 },
  },
  role: {
    ...{ id: 1, name: 'admin', canChangeConfig: true, canDeleteExecutions: true, canSeeStatus: true },
    ...{
      canAccessFullAppShop: true,
      canOperateOthers: true,
      canCustomizeResources: true,
      canAccessApi: true,
      canExec: true,
    },
  },
};

export class Users {
  readonly #options: UsersOptions;
  /** Submissions so far, and those without an answer. */
  #sent = 0;
  #open = 0;

  constructor(options: UsersOptions) {
    this.#options = options;
  }

  /** Does one random thing that a user can do. */
  act(): void {
    const { world } = this.#options;
    const what = world.random();
    if (what < 0.5) void this.submit(world.pick(applications));
    else if (what < 0.65) this.#withOne((id) => void this.terminate(id));
    else if (what < 0.77) this.#withOne((id) => void this.remove(id));
    else if (what < 0.8) this.#withOne((id) => this.#race(id));
    else void this.#readLog();
  }

  /** Submits many executions at once, as the user with a limited quota. */
  burst(count: number): void {
    for (let at = 0; at < count; at++) void this.submit(small, 2);
  }

  /** Submits large descriptions that fit nowhere, until the bounds refuse them. */
  flood(user: number): void {
    for (let at = 0; at < FLOOD; at++) void this.submit(oversized, user);
  }

  async submit(
    application: Application,
    user = this.#options.world.pick(USERS),
    by: KnownActor = administrator,
  ): Promise<void> {
    const { world } = this.#options;
    const number = this.#sent + 1;
    const isOnce = number % KEYED === 0;
    const submission = {
      userId: user,
      name: isOnce ? nameOfOnce(number) : 'run',
      application,
      description: JSON.stringify(application),
      ...(number % TIMED === 0 && { timeLimitS: TIME_LIMIT_S }),
    };
    if (isOnce)
      for (const afterMs of REPEATS_MS) world.after(afterMs, () => void this.#send(submission, isOnce, by));
    await this.#send(submission, isOnce, by);
  }

  async #send(submission: Submission, isOnce: boolean, by: KnownActor): Promise<void> {
    const { acknowledgements, bounds } = this.#options;
    const { userId: user, name } = submission;
    const before = bounds.waitingOf(user);
    const [sent, open] = [++this.#sent, this.#open++];
    const refused = ({ code, message }: OperationError) => {
      if (code === 'too-many') bounds.refused(user, message, before, open + this.#sent - sent);
    };
    await this.#options.requests.send(
      `submission ${name} by user ${user}`,
      (c) => c.submit(submission, by, isOnce ? { key: name, digest: name } : undefined),
      ({ id, isRepeat }) =>
        isOnce
          ? acknowledgements.submittedOnce(id, user, name, isRepeat)
          : acknowledgements.submitted(id, user),
      { refused },
    );
    this.#open -= 1;
  }

  async terminate(id: number): Promise<void> {
    const { acknowledgements } = this.#options;
    await this.#options.requests.send(
      `termination of execution ${id}`,
      (c) => c.terminate(id),
      () => acknowledgements.terminated(id),
    );
  }

  async remove(id: number): Promise<void> {
    const { acknowledgements, audit } = this.#options;
    acknowledgements.deletionRequested(id);
    await this.#options.requests.send(
      `deletion of execution ${id}`,
      (c) => c.remove(id, administrator),
      () => {
        acknowledgements.deleted(id);
        audit.deleted(id);
      },
    );
  }

  async setCaps(executions: number, memoryBytes: number, cores: number): Promise<void> {
    const changes = { concurrentExecutions: executions, memoryBytes, cores };
    const what = `change of quota 2 to ${JSON.stringify(changes)}`;
    await this.#options.requests.send(
      what,
      (c) => c.changeAccounts({ kind: 'update-quota', id: 2, changes }),
      () => {},
    );
  }

  endAll(action: 'terminate' | 'remove'): void {
    for (const [id, row] of this.#options.ledger.executions) {
      if (action === 'remove' && row.deleted === 0) void this.remove(id);
      if (action === 'terminate' && !isEnded(row) && row.status !== 'cleaning up') void this.terminate(id);
    }
  }

  /** Terminates, deletes and submits at one moment. */
  #race(id: number): void {
    this.#options.world.count('fault: terminate and delete race');
    void this.terminate(id);
    void this.remove(id);
    void this.terminate(id);
    void this.submit(applications[0] ?? small);
  }

  #withOne(what: (id: number) => void): void {
    const { acknowledgements, world, ledger } = this.#options;
    const ids = acknowledgements.ids.filter((id) => ledger.executions.get(id)?.deleted === 0);
    if (ids.length > 0) what(world.pick(ids.slice(-8)));
  }

  async #readLog(): Promise<void> {
    const { world, ledger, logs } = this.#options;
    const waiting = [...ledger.executions.values()].filter(({ status }) => status === 'queued');
    const ids = [
      ...[...ledger.services.keys()].slice(-12),
      ...waiting.slice(-4).map(({ first_service_id }) => Number(first_service_id)),
    ];
    if (ids.length === 0) return;
    const service = world.pick(ids);
    const request = this.#options.requests.send(
      `log of service ${service}`,
      (_, server) => server.openLog(subscriber, service, 'raw'),
      (stream, server) => {
        world.count('log: opened');
        const received = new ReceivedLog(logs, service);
        void this.#read(stream.getReader() as Reader, received, server);
      },
      { changes: false },
    );
    await request;
  }

  /** Reads to the end, with pauses, or cancels after a while. */
  async #read(reader: Reader, received: ReceivedLog, { process }: ControlPlane): Promise<void> {
    const { world } = this.#options;
    const behaviour = world.pick(['reads on', 'stalls', 'vanishes', 'vanishes']);
    const cancelsMs = world.nowMs + world.between(100, 8_000);
    if (behaviour === 'vanishes')
      world.after(cancelsMs - world.nowMs, () => void reader.cancel().catch(() => {}));
    try {
      while (process.alive) {
        const { done, value } = await reader.read();
        if (!process.alive) return;
        if (behaviour === 'vanishes' && world.nowMs >= cancelsMs) {
          world.count('fault: a log subscriber disconnects');
          return;
        }
        if (done) return received.ended();
        received.receive(value);
        if (behaviour === 'stalls' && world.chance(0.3)) {
          world.count('fault: a log subscriber stalls');
          await world.pause(world.between(1_000, 60_000));
        } else await world.pause(1);
      }
    } catch {
      if (process.alive) received.broken();
    }
  }
}
