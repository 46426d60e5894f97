/**
 * Addresses of the control planes of a deployment, of which one is active: which to try next (P191).
 */
export class Addresses {
  readonly #urls: readonly URL[];
  /** The one that accepted this agent last, or the first. */
  #preferred = 0;
  #current = 0;

  /** In the order of the setting; at least one. */
  constructor(urls: readonly URL[]) {
    this.#urls = urls;
  }

  get current(): URL {
    const url = this.#urls[this.#current];
    if (!url) throw new Error('an agent needs an address of a control plane');
    return url;
  }

  /** The control plane at the current address has accepted this agent. */
  accepted(): void {
    this.#preferred = this.#current;
  }

  /**
   * Moves on to the next address. Returns false once each address has been tried; the next round begins with
   * the preferred one.
   */
  next(): boolean {
    this.#current = (this.#current + 1) % this.#urls.length;
    return this.#current !== this.#preferred;
  }
}
