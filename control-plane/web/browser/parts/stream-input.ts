/**
 * What a page sends on a stream, in its order: first what may have to be sent again, then what waits for
 * credit.
 */
export class StreamInput {
  /** All from `#start` on. */
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  /** Positions in the stream: of the first byte that is kept, of the first that waits, and the end. */
  #start = 0;
  #sent = 0;
  #end = 0;

  /** Bytes that wait. */
  get waiting(): number {
    return this.#end - this.#sent;
  }

  /** The position of the first byte that waits. */
  get sent(): number {
    return this.#sent;
  }

  add(bytes: Uint8Array<ArrayBuffer>): void {
    this.#pieces.push(bytes);
    this.#end += bytes.length;
  }

  /** The next bytes that wait, as many as that. They count as sent. */
  next(most: number): Uint8Array<ArrayBuffer> {
    const from = this.#sent - this.#start;
    const bytes = this.#joined().subarray(from, from + most);
    this.#sent += bytes.length;
    return bytes;
  }

  /** What was sent before this position will not be sent again. */
  forget(to = this.#sent): void {
    if (to <= this.#start) return;
    this.#pieces = [this.#joined().subarray(to - this.#start)];
    this.#start = to;
  }

  /** All from this position on waits again. */
  rewind(to: number): void {
    this.forget(to);
    this.#sent = to;
  }

  #joined(): Uint8Array<ArrayBuffer> {
    const [first = new Uint8Array(), ...others] = this.#pieces;
    if (others.length === 0) return first;
    const all = new Uint8Array(this.#end - this.#start);
    let at = 0;
    for (const piece of this.#pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    this.#pieces = [all];
    return all;
  }
}
