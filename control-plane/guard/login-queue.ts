/**
 * The queue of logins that wait for their password check: fair queueing by network and by name (ACC-5). Pure.
 *
 * Each second place goes to the network, and each other one to the name, whose last turn is the longest ago.
 * Guesses from one network, or at one name, therefore delay every other login by a few checks only.
 */

/** One login that waits. Whether its name belongs to a user must not matter here. */
export interface WaitingLogin {
  name: string;
  /** As `subnetOf` returns it. */
  network: string;
  /** True if somebody has lately logged in from its address, or with the same credentials. */
  familiar: boolean;
}

/** Turns of familiar logins before an unfamiliar one that waits gets a turn. */
const FAMILIAR_TURNS = 3;

export class LoginQueue<T extends WaitingLogin> {
  readonly #familiar: FairQueue<T>;
  readonly #unfamiliar: FairQueue<T>;
  #turn = 0;

  /** `places` is the limit for familiar logins, and for unfamiliar ones. */
  constructor(places: number) {
    this.#familiar = new FairQueue(places);
    this.#unfamiliar = new FairQueue(places);
  }

  get size(): number {
    return this.#familiar.size + this.#unfamiliar.size;
  }

  /**
   * If there is no place left, the latest login of the largest network or name loses its place, which may be
   * `login` itself. Returns the login that has none.
   */
  add(login: T): T | undefined {
    return this.#queueOf(login).add(login);
  }

  delete(login: T): boolean {
    return this.#queueOf(login).delete(login);
  }

  /** Removes and returns the login whose turn it is. */
  next(): T | undefined {
    this.#turn = (this.#turn + 1) % (FAMILIAR_TURNS + 1);
    const [first, second] =
      this.#turn === 0 ? [this.#unfamiliar, this.#familiar] : [this.#familiar, this.#unfamiliar];
    return first.next() ?? second.next();
  }

  #queueOf = (login: T) => (login.familiar ? this.#familiar : this.#unfamiliar);
}

class FairQueue<T extends WaitingLogin> {
  readonly #places: number;
  readonly #byNetwork = new Turns<T>(
    (login) => login.network,
    (login) => login.name,
  );
  readonly #byName = new Turns<T>(
    (login) => login.name,
    (login) => login.network,
  );
  #size = 0;
  #networkIsNext = false;

  constructor(places: number) {
    this.#places = places;
  }

  get size(): number {
    return this.#size;
  }

  add(login: T): T | undefined {
    this.#byNetwork.add(login);
    this.#byName.add(login);
    this.#size++;
    if (this.#size <= this.#places) return undefined;
    const [network, name] = [this.#byNetwork.largest(), this.#byName.largest()];
    const largest = network.size >= name.size ? network : name;
    // Where no group waits with more than one login, those that wait already keep their places.
    const refused = largest.size > 1 ? largest.last : login;
    this.delete(refused);
    return refused;
  }

  delete(login: T): boolean {
    if (!this.#byNetwork.delete(login)) return false;
    this.#byName.delete(login);
    this.#size--;
    return true;
  }

  next(): T | undefined {
    this.#networkIsNext = !this.#networkIsNext;
    const login = (this.#networkIsNext ? this.#byNetwork : this.#byName).next();
    if (login) this.delete(login);
    return login;
  }
}

/** Groups of logins, and subgroups within each, that take turns. Within a subgroup, the first comes first. */
class Turns<T> {
  readonly #groupOf: (login: T) => string;
  readonly #subgroupOf: (login: T) => string;
  /** The group whose last turn is the longest ago comes first; so do subgroups. */
  readonly #groups = new Map<string, { size: number; subgroups: Map<string, Set<T>> }>();

  constructor(groupOf: (login: T) => string, subgroupOf: (login: T) => string) {
    this.#groupOf = groupOf;
    this.#subgroupOf = subgroupOf;
  }

  add(login: T): void {
    const group = this.#groups.get(this.#groupOf(login)) ?? { size: 0, subgroups: new Map() };
    this.#groups.set(this.#groupOf(login), group);
    const subgroup = group.subgroups.get(this.#subgroupOf(login)) ?? new Set();
    group.subgroups.set(this.#subgroupOf(login), subgroup.add(login));
    group.size++;
  }

  delete(login: T): boolean {
    const group = this.#groups.get(this.#groupOf(login));
    const subgroup = group?.subgroups.get(this.#subgroupOf(login));
    if (!group || !subgroup?.delete(login)) return false;
    group.size--;
    if (subgroup.size === 0) group.subgroups.delete(this.#subgroupOf(login));
    if (group.size === 0) this.#groups.delete(this.#groupOf(login));
    return true;
  }

  /** The login whose turn it is. It stays, and its group and subgroup go to the end. */
  next(): T | undefined {
    const subgroup = rotate(rotate(this.#groups)?.subgroups ?? new Map<string, Set<T>>());
    return subgroup?.values().next().value;
  }

  /** The size of the largest group, and the last login of its largest subgroup. There must be a login. */
  largest(): { size: number; last: T } {
    const { size, subgroups } = largestOf(this.#groups);
    return { size, last: [...largestOf(subgroups)].at(-1) as T };
  }
}

/** Moves the first entry to the end, and returns its value. */
function rotate<V>(entries: Map<string, V>): V | undefined {
  const [first] = entries;
  if (!first) return undefined;
  entries.delete(first[0]);
  entries.set(...first);
  return first[1];
}

/** The largest one; if several are, the one whose turn comes last. There must be one. */
const largestOf = <V extends { size: number }>(entries: ReadonlyMap<string, V>): V =>
  [...entries.values()].reduce((best, value) => (best.size > value.size ? best : value));
