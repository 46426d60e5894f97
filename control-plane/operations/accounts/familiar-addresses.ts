/**
 * The addresses from which somebody has lately logged in, by any name: an order by name would reveal which
 * names exist (ACC-5). Each process or isolate has its own.
 */
import { networkOf } from '../../core/accounts/login-throttle.ts';

const FAMILIAR_MS = 12 * 60 * 60_000;
const MAX_ADDRESSES = 10_000;

export class FamiliarAddresses {
  readonly #nowMs: () => number;
  /** The time of the last login; oldest first. */
  readonly #sinceMs = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  has(address: string | undefined): boolean {
    const sinceMs = address === undefined ? undefined : this.#sinceMs.get(networkOf(address));
    return sinceMs !== undefined && this.#nowMs() - sinceMs < FAMILIAR_MS;
  }

  add(address: string | undefined): void {
    if (address === undefined) return;
    this.#sinceMs.delete(networkOf(address));
    this.#sinceMs.set(networkOf(address), this.#nowMs());
    const oldest = this.#sinceMs.keys().next().value;
    if (this.#sinceMs.size > MAX_ADDRESSES && oldest !== undefined) this.#sinceMs.delete(oldest);
  }
}
