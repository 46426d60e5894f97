/** Changes of executions that callers request. Each one authorises its caller in the turn that decides. */
import {
  authorise,
  authoriseOwned,
  type Caller,
  hasChangedSince,
  type KnownActor,
  noSuchExecution,
} from '../../core/accounts/account.ts';
import { type AuditAction, entryOf } from '../../core/accounts/audit.ts';
import { submit } from '../../core/lifecycle/admission.ts';
import {
  changeTimeLimit,
  deleteEnded,
  requestDeletion,
  requestEnd,
} from '../../core/lifecycle/state-transitions.ts';
import { assertEnabled, type Submission } from '../../core/lifecycle/submission.ts';
import { OperationError } from '../../core/model/errors.ts';
import { type Execution, isEnded } from '../../core/model/execution.ts';
import type { Made, RequestKey } from '../../core/model/idempotency.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { isCurrent } from '../../core/streams/channel-subscriber.ts';
import { loadExecution } from '../../store/cluster/cluster-rows.ts';
import type { Db } from '../../store/db/db.ts';
import { findState } from '../../store/executions/executions.ts';
import { NextTurnError } from '../turn-inputs.ts';
import type { Turns } from '../turns.ts';
import type { Credentials } from './credentials.ts';
import type { IdempotencyKeys, KeyInTurn } from './idempotency-keys.ts';

interface Change<T> {
  read?(): Promise<void>;
  /** `actor` is undefined for changes of Berth's own. */
  run(actor: KnownActor | undefined, cluster: Cluster, nowMs: number): T;
}

export interface ExecutionChangesDeps {
  db: Db;
  turns: Turns;
  credentials: Credentials;
  keys: IdempotencyKeys;
  nowMs: () => number;
}

export class ExecutionChanges {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #credentials: Credentials;
  readonly #keys: IdempotencyKeys;
  readonly #nowMs: () => number;

  constructor({ db, turns, credentials, keys, nowMs }: ExecutionChangesDeps) {
    this.#db = db;
    this.#turns = turns;
    this.#credentials = credentials;
    this.#keys = keys;
    this.#nowMs = nowMs;
  }

  submit(submission: Submission, by?: Caller, key?: RequestKey): Promise<Made> {
    const { userId, description } = submission;
    let keyed: KeyInTurn | undefined;
    return this.#change(by, {
      ...(key && {
        read: async () => {
          keyed = await this.#keys.read({ ...key, userId }, this.#nowMs());
        },
      }),
      run: (actor, cluster, nowMs) => {
        if (actor) authorise(actor, { kind: 'submit-execution' });
        if (isChanging(userId, cluster)) throw new NextTurnError();
        assertEnabled(cluster, userId);
        const make = () => {
          const { id } = submit(cluster, submission, nowMs);
          this.#turns.loader.submitted(cluster, id, description);
          record(cluster, actor, 'submit-execution', id, nowMs);
          return id;
        };
        return keyed ? this.#keys.once(keyed, nowMs, cluster.changes, make) : { id: make(), isRepeat: false };
      },
    });
  }

  terminate(executionId: number, by?: Caller): Promise<void> {
    const end = (execution: Execution, _: unknown, cluster: Cluster, nowMs: number) =>
      requestEnd(cluster, execution, nowMs);
    return this.#changeLive(executionId, 'terminate-execution', by, end);
  }

  /** Only roles that can change the quota may go beyond it. */
  limitTime(executionId: number, limitS: number | null, by?: Caller): Promise<void> {
    return this.#changeLive(executionId, 'limit-execution', by, (execution, actor, cluster) => {
      const quota = actor?.role.canChangeConfig ? undefined : cluster.quotaOf(execution.userId);
      changeTimeLimit(cluster, execution, limitS, quota);
    });
  }

  /** Changes an execution that has not ended. */
  #changeLive(
    executionId: number,
    kind: 'terminate-execution' | 'limit-execution',
    by: Caller | undefined,
    change: (execution: Execution, actor: KnownActor | undefined, cluster: Cluster, nowMs: number) => void,
  ): Promise<void> {
    let ended: { userId: number } | undefined;
    return this.#change(by, {
      ...(by && {
        read: async () => {
          if (!this.#isLive(executionId)) ended = await findState(this.#db, executionId);
        },
      }),
      run: (actor, cluster, nowMs) => {
        const execution = cluster.executions.get(executionId);
        if (actor) authoriseOwned(actor, kind, ownerOf(execution ?? ended));
        if (execution?.deleted) throw noSuchExecution();
        if (!execution) throw new OperationError('conflict', 'The execution has already ended.');
        change(execution, actor, cluster, nowMs);
        record(cluster, actor, kind, executionId, nowMs);
      },
    });
  }

  remove(executionId: number, by?: Caller): Promise<void> {
    let ended: Execution | undefined;
    return this.#change(by, {
      // One that is not live has ended, and is in the database only. None ends between here and `run`.
      read: async () => {
        if (!this.#isLive(executionId)) ended = await loadExecution(this.#db, executionId);
      },
      run: (actor, cluster, nowMs) => {
        const live = cluster.executions.get(executionId);
        const execution = live ?? ended;
        if (actor) authoriseOwned(actor, 'delete-execution', ownerOf(execution));
        if (!execution || execution.deleted) throw noSuchExecution();
        if (live) requestDeletion(cluster, live, nowMs);
        else if (isEnded(execution)) deleteEnded(cluster, execution, nowMs);
        else throw new OperationError('unavailable', 'The execution is changing; try again.');
        record(cluster, actor, 'delete-execution', executionId, nowMs);
      },
    });
  }

  #isLive(executionId: number): boolean {
    return this.#turns.cluster?.executions.has(executionId) ?? false;
  }

  /** Reads a credential that somebody else has proved, so that the next change by it takes one round trip. */
  #learn({ kind, credential, user, role }: Caller): void {
    if (kind === 'expected' || credential.by === 'password' || this.#credentials.has(credential)) return;
    const nothing = () => {};
    const read = () => this.#credentials.read({ kind: 'expected', credential, user, role }, this.#nowMs());
    this.#turns.enqueue({ userId: user.id, read, run: nothing, fail: nothing });
  }

  /** The actor of a caller who may have been proved long ago: a client may hold back its body (ACC-12). */
  #actorOf(by: Caller, cluster: Cluster, nowMs: number): KnownActor {
    if (isChanging(by.user.id, cluster)) throw new NextTurnError();
    const actor = this.#credentials.actorOf(by, nowMs);
    const { id: userId, credentialVersion } = actor.user;
    if (!isCurrent({ userId, credentialVersion }, cluster)) throw hasChangedSince();
    return { ...actor, origin: by.origin };
  }

  #change<T>(by: Caller | undefined, { read, run }: Change<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let result: T;
      const readCaller =
        by?.kind === 'expected' ? () => this.#credentials.read(by, this.#nowMs()) : undefined;
      const reads = [readCaller ?? [], read ?? []].flat();
      this.#turns.enqueue({
        userId: by?.user.id,
        ...(reads.length > 0 && { read: async () => void (await Promise.all(reads.map((one) => one()))) }),
        run: (cluster: Cluster, nowMs: number) => {
          result = run(by && this.#actorOf(by, cluster, nowMs), cluster, nowMs);
        },
        done: () => {
          resolve(result);
          if (by) this.#learn(by);
        },
        fail: reject,
        mayRunAgain: true,
      });
    });
  }
}

/** Whether the commit of this turn changes the user: what follows it must be decided after it (C51). */
const isChanging = (userId: number, { changes }: Cluster): boolean =>
  changes.accounts.some(
    ({ change }) => CHANGES_USER.has(change.kind) && 'id' in change && change.id === userId,
  );

const CHANGES_USER: ReadonlySet<string> = new Set(['update-user', 'delete-user']);

/** Undefined if users do not see the execution. */
export const ownerOf = (execution: { userId: number; deleted?: boolean } | undefined): number | undefined =>
  execution?.deleted ? undefined : execution?.userId;

/**
 * Adds an entry to what the turn commits. A change without an actor follows from another one, which has it.
 */
function record(
  { changes }: Cluster,
  actor: KnownActor | undefined,
  action: AuditAction,
  targetId: number,
  timeMs: number,
): void {
  if (actor) changes.audited.push({ entry: entryOf(actor, { action, targetId }), timeMs });
}
