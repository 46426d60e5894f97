/** Divides the output of services into lines, and long lines into parts. */

const LINE_FEED = 0x0a;
/** A longer line comes in parts, so that no output needs much memory. */
export const MAX_LINE_BYTES = 1 << 16;

/** A line, or a part of a long one. No part ends within a character. */
export interface LinePart {
  /** Without the line feed. */
  bytes: Uint8Array;
  /** Whether the line begins with it. */
  isFirst: boolean;
  /** What ends the line after it: nothing if its start has ended there. Undefined: the line goes on. */
  end: '\n' | '' | undefined;
}

export class LineSplitter {
  readonly #maxBytes: number;
  readonly #open = new Map<number, { start: number; line: OpenLine }>();

  constructor(maxBytes = MAX_LINE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** The parts that are now whole. `start`: the start of the service, which begins with a new line. */
  push(service: number, start: number, bytes: Uint8Array): LinePart[] {
    const open = this.#open.get(service) ?? { start, line: new OpenLine(this.#maxBytes) };
    const parts: LinePart[] = open.start === start ? [] : open.line.end();
    this.#open.set(service, { ...open, start });
    let at = 0;
    for (let feed = bytes.indexOf(LINE_FEED); feed >= 0; feed = bytes.indexOf(LINE_FEED, at)) {
      parts.push(...open.line.take(bytes.subarray(at, feed), '\n'));
      at = feed + 1;
    }
    parts.push(...open.line.take(bytes.subarray(at), undefined));
    return parts;
  }

  /** The last parts, which have no line feed. */
  rest(): [service: number, part: LinePart][] {
    return [...this.#open].flatMap(([service, { line }]) =>
      line.end().map((part): [number, LinePart] => [service, part]),
    );
  }
}

/** What is known of a line that has not ended. */
class OpenLine {
  readonly #maxBytes: number;
  /** Its last `#used` bytes that are in no part yet. */
  #buffer = new Uint8Array(0);
  #used = 0;
  #isFirst = true;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  take(bytes: Uint8Array, end: LinePart['end']): LinePart[] {
    // Most lines come whole.
    if (end !== undefined && this.#used === 0 && bytes.byteLength <= this.#maxBytes)
      return [this.#part(bytes, end)];
    this.#append(bytes);
    const parts: LinePart[] = [];
    let at = 0;
    while (this.#used - at > this.#maxBytes) {
      const cut = boundary(this.#buffer, at + this.#maxBytes);
      parts.push(this.#part(this.#buffer.slice(at, cut), undefined));
      at = cut;
    }
    this.#buffer.copyWithin(0, at, this.#used);
    this.#used -= at;
    if (end !== undefined) {
      parts.push(this.#part(this.#buffer.slice(0, this.#used), end));
      this.#used = 0;
    }
    return parts;
  }

  /** Its start has ended. */
  end(): LinePart[] {
    return this.#isFirst && this.#used === 0 ? [] : this.take(new Uint8Array(0), '');
  }

  #part(bytes: Uint8Array, end: LinePart['end']): LinePart {
    const part = { bytes, isFirst: this.#isFirst, end };
    this.#isFirst = end !== undefined;
    return part;
  }

  #append(bytes: Uint8Array): void {
    const size = this.#used + bytes.byteLength;
    if (size > this.#buffer.byteLength) {
      // Twice the size: a line that comes byte by byte is not copied each time.
      const larger = new Uint8Array(Math.max(size, 2 * this.#buffer.byteLength));
      larger.set(this.#buffer.subarray(0, this.#used));
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.#used);
    this.#used = size;
  }
}

const MAX_CONTINUATION_BYTES = 3;
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The place up to `at` that is not within a character of UTF-8; `at` itself if the bytes are not text. */
function boundary(bytes: Uint8Array, at: number): number {
  for (let place = at; place >= at - MAX_CONTINUATION_BYTES; place--)
    if (!isContinuation(bytes[place])) return place;
  return at;
}
