/**
 * The last bytes of a stream of bytes, which may have to be sent again. They are copied: a piece of a larger
 * buffer would keep all of that in memory.
 */

const BLOCK_BYTES = 4 * 1024;

interface Block {
  readonly bytes: Uint8Array;
  length: number;
}

export class KeptBytes {
  #blocks: Block[] = [];
  /** Positions in the stream: of the first block, of the first byte that is kept, and the end. */
  #first = 0;
  #start = 0;
  #end = 0;

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  add(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const block = this.#roomy();
      const part = bytes.subarray(from, from + BLOCK_BYTES - block.length);
      block.bytes.set(part, block.length);
      block.length += part.length;
      from += part.length;
    }
    this.#end += bytes.length;
  }

  /** Nothing before this position will be needed. */
  drop(to: number): void {
    this.#start = Math.max(this.#start, to);
    for (
      let [block] = this.#blocks;
      block && this.#first + block.length <= this.#start;
      [block] = this.#blocks
    ) {
      this.#first += block.length;
      this.#blocks.shift();
    }
  }

  /** The bytes from this position on, in pieces. */
  *from(position: number): Generator<Uint8Array> {
    let at = this.#first;
    for (const { bytes, length } of this.#blocks) {
      if (at + length > position) yield bytes.subarray(Math.max(0, position - at), length);
      at += length;
    }
  }

  #roomy(): Block {
    const last = this.#blocks.at(-1);
    if (last && last.length < BLOCK_BYTES) return last;
    const block = { bytes: new Uint8Array(BLOCK_BYTES), length: 0 };
    this.#blocks.push(block);
    return block;
  }
}
