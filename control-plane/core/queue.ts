/** Owns the order in which waiting executions are offered room: that of their submission, of all users or of some. Pure. */
import type { Execution } from './execution.ts';

/** Ids ascend with the time of submission. */
type Waiting = Pick<Execution, 'id' | 'userId'>;

export class Queue {
  /** Ids of each user that has some waiting, ascending. A user who may start nothing costs a look, however many wait. */
  readonly #byUser = new Map<number, number[]>();

  add({ id, userId }: Waiting): void {
    const ids = this.#byUser.get(userId) ?? [];
    ids.splice(placeOf(ids, id), 0, id);
    this.#byUser.set(userId, ids);
  }

  remove({ id, userId }: Waiting): void {
    const ids = this.#byUser.get(userId) ?? [];
    const at = placeOf(ids, id);
    if (ids[at] === id) ids.splice(at, 1);
    if (ids.length === 0) this.#byUser.delete(userId);
  }

  /** All that wait, oldest first. */
  get ids(): number[] {
    return [...this.candidates(() => true)];
  }

  /** Oldest first; those of a user only as long as it `isOpen`. Those given out may be removed meanwhile. */
  *candidates(isOpen: (userId: number) => boolean): Generator<number> {
    const heads: Waiting[] = [];
    const push = (userId: number, after: number) => {
      const ids = this.#byUser.get(userId) ?? [];
      const id = ids[placeOf(ids, after + 1)];
      if (id === undefined || !isOpen(userId)) return;
      heads.splice(
        placeOf(heads, id, (head) => head.id),
        0,
        { id, userId },
      );
    };
    for (const userId of this.#byUser.keys()) push(userId, 0);
    for (let head = heads.shift(); head; head = heads.shift()) {
      yield head.id;
      push(head.userId, head.id);
    }
  }
}

/** Where `id` is, or would be, in what ascends. */
function placeOf<T>(sorted: readonly T[], id: number, idOf = (one: T) => Number(one)): number {
  let from = 0;
  let to = sorted.length;
  // Most come last.
  if (to > 0 && idOf(sorted[to - 1] as T) < id) return to;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (idOf(sorted[middle] as T) < id) from = middle + 1;
    else to = middle;
  }
  return from;
}
