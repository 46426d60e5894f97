/** How many bytes one side of a channel may still send, and a way to wait for more (P251). */
export class Credit {
  #bytes: number;
  #isClosed = false;
  #wake = () => {};

  constructor(bytes = 0) {
    this.#bytes = bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The other side has granted more. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#wake();
  }

  use(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** Resolves at the next grant, or once closed. */
  more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#isClosed) resolve();
    });
  }

  /** Nothing will be sent any more. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }
}
