/**
 * Idempotency keys in turns: a request whose key was used before makes nothing, and gets what the first one
 * made (API-20).
 */
import {
  assertMayUseKey,
  type KeptKeys,
  type Made,
  madeBefore,
  type RequestKey,
  type UsedKey,
} from '../../core/model/idempotency.ts';
import { RecentMap } from '../../core/model/recent-map.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { countKeys, findKey } from '../../store/accounts/idempotency-keys.ts';
import type { Db } from '../../store/db/db.ts';

/** Users whose counts are in memory. */
const MAX_USERS = 10_000;

/** A request with a key, and what the database has under that key. */
export interface KeyedRequest extends RequestKey {
  userId: number;
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
  async read(userId: number, key: RequestKey, nowMs: number): Promise<KeyedRequest> {
    const known = this.#kept.get(userId);
    const mustCount = !known || known.keys >= this.#maxPerUser;
    const [stored, counted] = await Promise.all([
      findKey(this.#db, userId, key.key),
      mustCount ? countKeys(this.#db, userId, nowMs) : undefined,
    ]);
    if (counted) this.#kept.set(userId, counted);
    return { ...key, userId, stored };
  }

  /** Calls `make`, unless an earlier request with the key has made something. The commit writes the key. */
  once(request: KeyedRequest, { changes }: Cluster, nowMs: number, make: () => number): Made {
    const { userId, key, digest, stored } = request;
    const name = `${userId} ${key}`;
    const before = madeBefore(changes.usedKeys.get(name) ?? stored, request, nowMs);
    if (before !== undefined) return { id: before, isRepeat: true };
    const kept = this.#kept.get(userId) ?? { keys: 0, oldestMs: null };
    assertMayUseKey(kept, this.#maxPerUser, nowMs);
    const id = make();
    changes.usedKeys.set(name, { userId, key, digest, madeId: id, madeMs: nowMs });
    this.#kept.set(userId, { keys: kept.keys + 1, oldestMs: kept.oldestMs ?? nowMs });
    return { id, isRepeat: false };
  }
}
