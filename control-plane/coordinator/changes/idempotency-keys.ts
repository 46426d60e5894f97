/**
 * Idempotency keys in turns: a request whose key was used before makes nothing, and gets what the first one
 * made (API-20). The coordinator writes all keys, so it knows those of a user once it has read them.
 */
import type { Limit } from '../../core/metrics/limits.ts';
import {
  assertMayUseKey,
  type Made,
  madeBefore,
  type UsedKey,
  type UserKey,
} from '../../core/model/idempotency.ts';
import { RecentMap } from '../../core/model/recent-map.ts';
import type { Changes } from '../../core/state/changes.ts';
import { countKeys, findKey, listKeys } from '../../store/accounts/idempotency-keys.ts';
import type { Db } from '../../store/db/db.ts';
import { NextTurnError } from '../turn-inputs.ts';

/** Users whose keys are in memory, and how many of each. */
const MAX_USERS = 200;
const MAX_KNOWN = 100;

/** The key of a request, and what was stored under it when its turn began. */
export interface KeyInTurn extends UserKey {
  stored: UsedKey | undefined;
}

interface KeysOfUser {
  /** At least as many as the user has: those that have expired meanwhile are still counted. */
  count: number;
  oldestMs: number | null;
  /** All keys of the user; undefined if there are too many. */
  known: Map<string, UsedKey> | undefined;
}

export class IdempotencyKeys {
  readonly #db: Db;
  readonly #maxPerUser: number;
  readonly #ofUsers = new RecentMap<number, KeysOfUser>(MAX_USERS);
  /** Reads under way. A burst of requests by one user reads the keys of the user once. */
  readonly #reading = new Map<number, Promise<void>>();

  constructor(db: Db, maxPerUser: number) {
    this.#db = db;
    this.#maxPerUser = maxPerUser;
  }

  /** For the metrics. Users whose keys are not in memory have made no request lately. */
  get limit(): Limit {
    const [name, setting] = ['idempotency_keys_of_one_user', 'BERTH_LIMITS.idempotencyKeysPerUser'];
    const used = [...this.#ofUsers.values()].reduce((most, { count }) => Math.max(most, count), 0);
    return { name, setting, used, limit: this.#maxPerUser };
  }

  /** Finds out what the key was used for. Only the turn that reads may decide by it. */
  async read(key: UserKey, nowMs: number): Promise<KeyInTurn> {
    const ofUser = this.#ofUsers.get(key.userId);
    const isFull = ofUser !== undefined && ofUser.count >= this.#maxPerUser;
    if (ofUser?.known && !isFull) return { ...key, stored: ofUser.known.get(key.key) };
    const [stored] = await Promise.all([
      findKey(this.#db, key.userId, key.key),
      !ofUser || isFull ? this.#readUser(key.userId, nowMs) : undefined,
    ]);
    return { ...key, stored };
  }

  /**
   * The id of what an earlier request has made; undefined if this one may use the key. Throws OperationError
   * if it must not, and NextTurnError if only the commit of this turn shows whether something was made.
   */
  madeBefore(
    key: KeyInTurn,
    nowMs: number,
    { usedKeys, keysInDoubt }: Pick<Changes, 'usedKeys' | 'keysInDoubt'>,
  ): number | undefined {
    if (keysInDoubt.has(nameOf(key))) throw new NextTurnError();
    const ofUser = this.#ofUsers.get(key.userId);
    const used = usedKeys.get(nameOf(key)) ?? ofUser?.known?.get(key.key) ?? key.stored;
    const made = madeBefore(used, key, nowMs);
    if (made === undefined && ofUser) assertMayUseKey(ofUser, this.#maxPerUser, nowMs);
    return made;
  }

  /** Takes the key for what the commit of this turn creates, or refuses. */
  reserve(key: UserKey, nowMs: number, { keysInDoubt }: Pick<Changes, 'keysInDoubt'>): void {
    keysInDoubt.add(nameOf(key));
    this.#count(key.userId, nowMs);
  }

  #count(userId: number, nowMs: number): void {
    const ofUser = this.#ofUsers.get(userId);
    if (!ofUser) return;
    ofUser.count += 1;
    ofUser.oldestMs ??= nowMs;
  }

  /** Notes a counted key that is committed with this turn, or was before it. */
  noteMade(used: UsedKey): void {
    const ofUser = this.#ofUsers.get(used.userId);
    if (!ofUser) return;
    ofUser.known?.set(used.key, used);
    // Some of them may have expired: the next request reads what is left.
    if ((ofUser.known?.size ?? 0) > MAX_KNOWN) this.#ofUsers.delete(used.userId);
  }

  /** Calls `make`, unless an earlier request with the key has made something. The commit writes the key. */
  once({ stored, ...key }: KeyInTurn, nowMs: number, changes: Changes, make: () => number): Made {
    const before = this.madeBefore({ ...key, stored }, nowMs, changes);
    if (before !== undefined) return { id: before, isRepeat: true };
    const used = { ...key, madeId: make(), madeMs: nowMs };
    changes.usedKeys.set(nameOf(key), used);
    this.#count(used.userId, nowMs);
    this.noteMade(used);
    return { id: used.madeId, isRepeat: false };
  }

  /** Forgets all keys: a commit has failed, or another coordinator may have written others. */
  forget(): void {
    this.#ofUsers.clear();
  }

  async #readUser(userId: number, nowMs: number): Promise<void> {
    const reading =
      this.#reading.get(userId) ?? this.#readNow(userId, nowMs).finally(() => this.#reading.delete(userId));
    this.#reading.set(userId, reading);
    await reading;
  }

  async #readNow(userId: number, nowMs: number): Promise<void> {
    const [kept, keys] = await Promise.all([
      countKeys(this.#db, userId, nowMs),
      listKeys(this.#db, userId, nowMs, MAX_KNOWN + 1),
    ]);
    const known = keys.length > MAX_KNOWN ? undefined : new Map(keys.map((used) => [used.key, used]));
    this.#ofUsers.set(userId, { ...kept, known });
  }
}

const nameOf = ({ userId, key }: UserKey): string => `${userId} ${key}`;
