/** Changes of users and quotas that callers request. Each one is a transaction of its own (C50). */
import type { AccountChange } from '../../core/accounts/account-input.ts';
import { changeAccounts } from '../../store/accounts/account-changes.ts';
import type { WriteOutcome } from '../../store/accounts/account-writes.ts';
import type { Db } from '../../store/db/db.ts';
import type { Turns } from '../turns.ts';
import type { Credentials } from './credentials.ts';

export class AccountChanges {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #credentials: Credentials;

  constructor(db: Db, turns: Turns, credentials: Credentials) {
    this.#db = db;
    this.#turns = turns;
    this.#credentials = credentials;
  }

  change(change: AccountChange): Promise<WriteOutcome> {
    return new Promise((resolve, reject) => {
      let written: WriteOutcome;
      this.#turns.enqueue({
        prepare: async ({ epoch, cluster }) => {
          written = await changeAccounts(this.#db, epoch, cluster, change);
          if (written.done && change.kind.endsWith('-user')) this.#credentials.forget(written.id);
        },
        run: () => {},
        done: () => resolve(written),
        fail: reject,
        mayRunAgain: true,
      });
    });
  }
}
