/** Divides the output of services into lines. */

const LINE_FEED = 0x0a;
/** A longer line comes in parts, so that no output needs much memory. */
export const MAX_LINE_BYTES = 1 << 16;

export class LineSplitter {
  /** The beginning of a line, by service. */
  readonly #begun = new Map<number, Uint8Array>();

  /** The lines that are now whole, without their line feeds. */
  push(service: number, bytes: Uint8Array): Uint8Array[] {
    const all = joined(this.#begun.get(service), bytes);
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end = all.indexOf(LINE_FEED); end >= 0; end = all.indexOf(LINE_FEED, start)) {
      lines.push(all.subarray(start, end));
      start = end + 1;
    }
    const rest = all.subarray(start);
    if (rest.byteLength > MAX_LINE_BYTES) {
      lines.push(rest);
      this.#begun.delete(service);
    } else this.#begun.set(service, rest);
    return lines;
  }

  /** The last lines, which have no line feed. */
  rest(): [service: number, line: Uint8Array][] {
    return [...this.#begun].filter(([, line]) => line.byteLength > 0);
  }
}

function joined(first: Uint8Array | undefined, second: Uint8Array): Uint8Array {
  if (!first || first.byteLength === 0) return second;
  const all = new Uint8Array(first.byteLength + second.byteLength);
  all.set(first);
  all.set(second, first.byteLength);
  return all;
}
