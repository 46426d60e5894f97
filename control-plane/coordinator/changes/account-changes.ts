/**
 * Changes of accounts that callers request. Each one is a transaction of its own, before its turn (C50), with
 * the idempotency key of its request and its row of the audit log.
 */
import type { AccountChange } from '../../core/accounts/account-input.ts';
import type { AuditEntry } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { UserKey } from '../../core/model/idempotency.ts';
import { changeAccounts, type Recorded } from '../../store/accounts/account-changes.ts';
import type { WriteOutcome } from '../../store/accounts/account-writes.ts';
import type { Db } from '../../store/db/db.ts';
import { readDatabase, type State } from '../turn-inputs.ts';
import type { Turns } from '../turns.ts';
import type { Credentials } from './credentials.ts';
import type { IdempotencyKeys } from './idempotency-keys.ts';

export interface AccountChangesDeps {
  db: Db;
  turns: Turns;
  credentials: Credentials;
  keys: IdempotencyKeys;
  nowMs: () => number;
  /** Called for each row of the audit log. */
  audited: () => void;
}

export class AccountChanges {
  readonly #deps: AccountChangesDeps;

  constructor(deps: AccountChangesDeps) {
    this.#deps = deps;
  }

  change(change: AccountChange, key?: UserKey, entry?: AuditEntry): Promise<WriteOutcome> {
    return new Promise((resolve, reject) => {
      let written: WriteOutcome;
      let refused: OperationError | undefined;
      this.#deps.turns.enqueue({
        prepare: async (state) => {
          try {
            written =
              (key && (await this.#madeBefore(key, state))) ??
              (await this.#write(change, state, { key, entry }));
          } catch (error) {
            if (!(error instanceof OperationError)) throw error;
            refused = error;
          }
        },
        run: () => {
          if (refused) throw refused;
        },
        done: () => resolve(written),
        fail: reject,
        mayRunAgain: true,
      });
    });
  }

  async #madeBefore(key: UserKey, { cluster }: State): Promise<WriteOutcome | undefined> {
    const { keys, nowMs } = this.#deps;
    const read = await readDatabase(keys.read(key, nowMs()));
    const id = keys.madeBefore(read, nowMs(), cluster.changes);
    return id === undefined ? undefined : { done: true, id, isRepeat: true };
  }

  async #write(
    change: AccountChange,
    state: State,
    { key, entry }: Omit<Recorded, 'nowMs'>,
  ): Promise<WriteOutcome> {
    const { db, credentials, keys, nowMs } = this.#deps;
    const madeMs = nowMs();
    const written = await changeAccounts({ db, ...state }, change, { key, entry, nowMs: madeMs });
    if (written.done && change.kind.endsWith('-user')) credentials.forget(written.id);
    if (written.done && change.kind === 'delete-role') credentials.forget(null);
    if (written.done && entry) this.#deps.audited();
    if (written.done && key) keys.note({ ...key, madeId: written.id, madeMs });
    return written;
  }
}
