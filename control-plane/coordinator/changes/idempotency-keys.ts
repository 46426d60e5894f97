/**
 * Idempotency keys in turns: a request whose key was used before makes nothing, and gets what the first one
 * made (API-20).
 */
import {
  assertMayUseKey,
  type KeptKeys,
  type Made,
  madeBefore,
  type UsedKey,
  type UserKey,
} from '../../core/model/idempotency.ts';
import { RecentMap } from '../../core/model/recent-map.ts';
import type { Changes } from '../../core/state/changes.ts';
import { countKeys, findKey } from '../../store/accounts/idempotency-keys.ts';
import type { Db } from '../../store/db/db.ts';

/** Users whose counts are in memory. */
const MAX_USERS = 10_000;

/** The key of a request, and what the database has under it. */
export interface KeyInTurn extends UserKey {
  stored: UsedKey | undefined;
}

export class IdempotencyKeys {
  readonly #db: Db;
  readonly #maxPerUser: number;
  /** At least as many keys as the user has: those that have expired meanwhile are still counted. */
  readonly #kept = new RecentMap<number, KeptKeys>(MAX_USERS);

  constructor(db: Db, maxPerUser: number) {
    this.#db = db;
    this.#maxPerUser = maxPerUser;
  }

  /** Reads what the key was used for. Only the turn that reads may decide by it. */
  async read(key: UserKey, nowMs: number): Promise<KeyInTurn> {
    const { userId } = key;
    const known = this.#kept.get(userId);
    const mustCount = !known || known.keys >= this.#maxPerUser;
    const [stored, counted] = await Promise.all([
      findKey(this.#db, userId, key.key),
      mustCount ? countKeys(this.#db, userId, nowMs) : undefined,
    ]);
    if (counted) this.#kept.set(userId, counted);
    return { ...key, stored };
  }

  /**
   * The id of what an earlier request has made; undefined if this one may use the key. Throws OperationError
   * if it must not.
   */
  madeBefore(key: KeyInTurn, nowMs: number, { usedKeys }: Pick<Changes, 'usedKeys'>): number | undefined {
    const made = madeBefore(usedKeys.get(nameOf(key)) ?? key.stored, key, nowMs);
    if (made === undefined) assertMayUseKey(this.#keptOf(key), this.#maxPerUser, nowMs);
    return made;
  }

  /** Counts a key that is committed with this turn, or was before it. */
  count(key: UserKey, nowMs: number): void {
    const { keys, oldestMs } = this.#keptOf(key);
    this.#kept.set(key.userId, { keys: keys + 1, oldestMs: oldestMs ?? nowMs });
  }

  /** Calls `make`, unless an earlier request with the key has made something. The commit writes the key. */
  once(key: KeyInTurn, nowMs: number, changes: Changes, make: () => number): Made {
    const before = this.madeBefore(key, nowMs, changes);
    if (before !== undefined) return { id: before, isRepeat: true };
    const id = make();
    changes.usedKeys.set(nameOf(key), { ...key, madeId: id, madeMs: nowMs });
    this.count(key, nowMs);
    return { id, isRepeat: false };
  }

  #keptOf({ userId }: UserKey): KeptKeys {
    return this.#kept.get(userId) ?? { keys: 0, oldestMs: null };
  }
}

const nameOf = ({ userId, key }: UserKey): string => `${userId} ${key}`;
