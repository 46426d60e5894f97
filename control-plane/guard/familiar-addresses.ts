/**
 * The addresses from which somebody has lately logged in, by any name: an order by name would reveal which
 * names exist (ACC-5). Each process or isolate has its own.
 */
import { networkOf } from '../core/accounts/network.ts';
import { RecentMap } from '../core/model/recent-map.ts';

const FAMILIAR_MS = 12 * 60 * 60_000;
const MAX_ADDRESSES = 10_000;

export class FamiliarAddresses {
  readonly #nowMs: () => number;
  /** The time of the last login; oldest first. */
  readonly #sinceMs = new RecentMap<string, number>(MAX_ADDRESSES);

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  has(address: string | undefined): boolean {
    const sinceMs = address === undefined ? undefined : this.#sinceMs.get(networkOf(address));
    return sinceMs !== undefined && this.#nowMs() - sinceMs < FAMILIAR_MS;
  }

  add(address: string | undefined): void {
    if (address !== undefined) this.#sinceMs.set(networkOf(address), this.#nowMs());
  }
}
