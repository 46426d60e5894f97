/**
 * Splits the output of a command without a terminal. The engine sends it in records: a byte for the source,
 * three of 0, the length of the text in four bytes (big-endian), and the text.
 */
import type { Piece } from './target.ts';

const HEADER_BYTES = 8;

/** Throws if the engine sends anything else. A text comes in pieces, as it arrives. */
export async function* splitOutput(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  let head: Uint8Array = new Uint8Array(0);
  let source = 0;
  let textBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    while (from < chunk.length) {
      if (textBytes > 0) {
        const bytes = chunk.subarray(from, from + textBytes);
        from += bytes.length;
        textBytes -= bytes.length;
        yield { bytes, source };
        continue;
      }
      const part = chunk.subarray(from, from + HEADER_BYTES - head.length);
      from += part.length;
      head = Buffer.concat([head, part]);
      if (head.length < HEADER_BYTES) continue;
      const [kind = 0, ...zeros] = head.subarray(0, 4);
      if (kind > 2 || zeros.some((zero) => zero !== 0)) throw new Error('the engine sent unreadable output');
      source = Math.max(1, kind);
      textBytes = new DataView(head.buffer, head.byteOffset).getUint32(4);
      head = new Uint8Array(0);
    }
  }
}

/** The output of a command with a terminal, or of a connection. */
export async function* wholeOutput(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  for await (const bytes of chunks) yield { bytes };
}
