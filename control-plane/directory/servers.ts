/** The servers of the directory: tried in the order of the setting, those that have just failed last. */
import type { LdapAddress } from './ldap-settings.ts';

/** A server that has failed is tried after the others for so long. */
const FAILED_MS = 30_000;

export class Servers {
  readonly #addresses: readonly LdapAddress[];
  readonly #nowMs: () => number;
  readonly #failedMs = new Map<LdapAddress, number>();

  constructor(addresses: readonly LdapAddress[], nowMs: () => number) {
    this.#addresses = addresses;
    this.#nowMs = nowMs;
  }

  /** All servers, in the order in which they are to be tried. */
  inOrder(): LdapAddress[] {
    const sinceMs = this.#nowMs() - FAILED_MS;
    const hasFailed = (one: LdapAddress) => (this.#failedMs.get(one) ?? Number.NEGATIVE_INFINITY) > sinceMs;
    return [...this.#addresses.filter((one) => !hasFailed(one)), ...this.#addresses.filter(hasFailed)];
  }

  failed(address: LdapAddress): void {
    this.#failedMs.set(address, this.#nowMs());
  }

  worked(address: LdapAddress): void {
    this.#failedMs.delete(address);
  }
}
