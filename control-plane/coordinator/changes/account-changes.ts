/**
 * Changes of accounts that callers request. The commit of a turn makes them (C50), each with the idempotency
 * key of its request and its row of the audit log. The state has a change after that commit.
 */
import {
  type AccountChange,
  concernsQueue,
  type RequestedChange,
  type WriteOutcome,
} from '../../core/accounts/account-input.ts';
import type { AuditEntry } from '../../core/accounts/audit.ts';
import { assertEnabled } from '../../core/lifecycle/submission.ts';
import type { UserKey } from '../../core/model/idempotency.ts';
import type { Turns } from '../turns.ts';
import type { Credentials } from './credentials.ts';
import type { IdempotencyKeys, KeyInTurn } from './idempotency-keys.ts';

export interface AccountChangesDeps {
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
    const { turns, keys, nowMs } = this.#deps;
    return new Promise((resolve, reject) => {
      let keyed: KeyInTurn | undefined;
      let outcome: WriteOutcome;
      turns.enqueue({
        userId: entry?.userId ?? key?.userId,
        ...(key && {
          read: async () => {
            keyed = await keys.read(key, nowMs());
          },
        }),
        run: (cluster, timeMs) => {
          if (entry && entry.userId !== null) assertEnabled(cluster, entry.userId);
          const madeId = keyed && keys.madeBefore(keyed, timeMs, cluster.changes);
          if (madeId !== undefined) {
            outcome = { done: true, id: madeId, isRepeat: true };
            return;
          }
          if (keyed) keys.reserve(keyed, timeMs, cluster.changes);
          const settled = (settledAs: WriteOutcome) => {
            outcome = settledAs;
            this.#settled({ change, key, entry, timeMs }, settledAs);
          };
          cluster.changes.accounts.push({ change, key, entry, timeMs, settled });
        },
        done: () => {
          // What a new quota allows or forbids is decided before the answer (H140).
          const answer = () => resolve(outcome);
          if (concernsQueue(change)) turns.query(() => {}).then(answer, answer);
          else answer();
        },
        fail: reject,
        mayRunAgain: true,
      });
    });
  }

  #settled({ change, key, entry, timeMs }: Omit<RequestedChange, 'settled'>, outcome: WriteOutcome): void {
    if (!outcome.done) return;
    const { credentials, keys, audited } = this.#deps;
    if (change.kind.endsWith('-user')) credentials.forget(outcome.id);
    if (change.kind === 'delete-role') credentials.forget(null);
    if (entry) audited();
    if (key) keys.noteMade({ ...key, madeId: outcome.id, madeMs: timeMs });
  }
}
