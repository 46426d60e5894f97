/**
 * Stores the output of one service in the browser: its bytes in blocks of a megabyte, and where each line
 * begins. A string per line would take several times the memory. The oldest lines can be dropped. Never
 * touches the page.
 */

export const BLOCK_BYTES = 1 << 20;
/** Most services write little. */
const FIRST_BLOCK_BYTES = 1 << 16;
const NEWLINE = 10;

interface Block {
  bytes: Uint8Array<ArrayBuffer>;
  used: number;
  /** Offsets of its lines; the first `count` are in use. */
  starts: Uint32Array<ArrayBuffer>;
  count: number;
  /** Number of its first line. */
  first: number;
}

export class LogStore {
  readonly #blocks: Block[] = [];
  /** Lines that continue a line too long for one block. */
  readonly #continued = new Set<number>();
  #first = 0;
  #end = 0;
  #open = false;
  #lastFound: Block | undefined;

  /** The first line that is still stored. */
  get first(): number {
    return this.#first;
  }

  /** One more than the last line that has begun. */
  get end(): number {
    return this.#end;
  }

  get bytes(): number {
    return this.#blocks.reduce((sum, { bytes, starts }) => sum + bytes.byteLength + starts.byteLength, 0);
  }

  append(output: Uint8Array): void {
    let at = 0;
    while (at < output.byteLength) {
      const newline = output.indexOf(NEWLINE, at);
      const end = newline < 0 ? output.byteLength : newline;
      this.#put(output.subarray(at, end));
      if (newline >= 0) this.#open = false;
      at = end + 1;
    }
  }

  /** Makes the next output begin a line, even if the last one has no newline. */
  endLine(): void {
    this.#open = false;
  }

  /** The bytes of a line without its newline, as a view of the store. Empty if the line is not stored. */
  line(number: number): Uint8Array {
    const block = this.#blockOf(number);
    if (!block) return new Uint8Array();
    const at = number - block.first;
    const end = at + 1 < block.count ? block.starts[at + 1] : block.used;
    return block.bytes.subarray(block.starts[at], end);
  }

  /** Whether the line continues the one before, and so has no time. */
  isContinued(number: number): boolean {
    return this.#continued.has(number);
  }

  /** Drops all lines before this one. */
  dropBefore(number: number): void {
    this.#continued.delete(this.#first);
    this.#first = Math.max(this.#first, number);
    const [oldest] = this.#blocks;
    if (!oldest || this.#blocks.length < 2 || oldest.first + oldest.count > this.#first) return;
    this.#blocks.shift();
    this.#lastFound = undefined;
  }

  #put(piece: Uint8Array): void {
    let rest = piece;
    if (!this.#open) this.#begin(rest.byteLength);
    else this.#makeSpace(rest.byteLength);
    for (let block = this.#last(); rest.byteLength > 0; block = this.#last()) {
      const fits = rest.subarray(0, block.bytes.byteLength - block.used);
      block.bytes.set(fits, block.used);
      block.used += fits.byteLength;
      rest = rest.subarray(fits.byteLength);
      if (rest.byteLength > 0) {
        // The piece exceeds a block: its rest becomes a line of its own.
        this.#continued.add(this.#end);
        this.#begin(rest.byteLength);
      }
    }
  }

  #begin(length: number): void {
    const block = this.#blocks.at(-1);
    const fits = block && block.used + length <= block.bytes.byteLength;
    pushStart(fits ? block : this.#addBlock(length));
    this.#end += 1;
    this.#open = true;
  }

  /**
   * Makes space for `length` bytes after the last line, which moves to a block of its own if its block is too
   * small.
   */
  #makeSpace(length: number): void {
    const block = this.#last();
    const start = block.starts[block.count - 1] ?? 0;
    const isAlone = start === 0 && block.bytes.byteLength === BLOCK_BYTES;
    if (block.used + length <= block.bytes.byteLength || isAlone) return;
    const moved = block.bytes.subarray(start, block.used);
    block.used = start;
    block.count -= 1;
    const next = this.#addBlock(BLOCK_BYTES);
    next.first -= 1;
    pushStart(next);
    next.bytes.set(moved);
    next.used = moved.byteLength;
    if (block.count === 0) this.#blocks.splice(this.#blocks.indexOf(block), 1);
    this.#lastFound = undefined;
  }

  #addBlock(length: number): Block {
    const size = this.#end === 0 && length <= FIRST_BLOCK_BYTES ? FIRST_BLOCK_BYTES : BLOCK_BYTES;
    const starts = new Uint32Array(size / 256);
    const block = { bytes: new Uint8Array(size), used: 0, starts, count: 0, first: this.#end };
    this.#blocks.push(block);
    return block;
  }

  #last(): Block {
    const block = this.#blocks.at(-1);
    if (!block) throw new Error('no line has begun');
    return block;
  }

  #blockOf(number: number): Block | undefined {
    const last = this.#lastFound;
    if (last && isIn(last, number)) return last;
    let [low, high] = [0, this.#blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#blocks[middle]?.first ?? 0) <= number) low = middle;
      else high = middle - 1;
    }
    const found = this.#blocks[low];
    this.#lastFound = found && isIn(found, number) ? found : undefined;
    return this.#lastFound;
  }
}

const isIn = ({ first, count }: Block, number: number): boolean => number >= first && number < first + count;

function pushStart(block: Block): void {
  if (block.count === block.starts.length) {
    const grown = new Uint32Array(block.starts.length * 2);
    grown.set(block.starts);
    block.starts = grown;
  }
  block.starts[block.count] = block.used;
  block.count += 1;
}
