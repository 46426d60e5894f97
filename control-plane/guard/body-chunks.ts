/**
 * Bounds what a chunked body costs on Node: a body of a megabyte in chunks of one byte would otherwise become
 * a million buffers, which take a gigabyte and hold the thread for seconds.
 */
import type { IncomingMessage } from 'node:http';

/** Programs that write JSON piece by piece need some thousand. Node parses as many in 10 ms. */
export const MAX_CHUNKS = 10_000;

const JOINED_BYTES = 16 * 1024;
/** Larger chunks are passed on as they are. */
const SMALL_BYTES = 1024;

/**
 * Joins the small chunks that arrive together into one buffer. `onExcess` is called once a body has too many
 * chunks; what follows of the body is dropped. Undefined: it may have any number of them.
 */
export function joinChunks(request: IncomingMessage, onExcess: (() => void) | undefined): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  const push = request.push.bind(request);
  let chunks = 0;
  let [joined, length]: [Uint8Array | undefined, number] = [undefined, 0];
  const flush = () => {
    const ready = joined?.slice(0, length);
    [joined, length] = [undefined, 0];
    if (ready) push(ready);
  };
  // The parser calls this for each chunk, and stops reading from the socket after false.
  request.push = (chunk: Uint8Array | null) => {
    chunks += 1;
    if (onExcess && chunks === MAX_CHUNKS + 1) onExcess();
    if (onExcess && chunks > MAX_CHUNKS) return false;
    if (chunk === null || chunk.byteLength > SMALL_BYTES || length > JOINED_BYTES - SMALL_BYTES) flush();
    if (chunk === null || chunk.byteLength > SMALL_BYTES) return push(chunk);
    if (!joined) {
      joined = new Uint8Array(JOINED_BYTES);
      // Node runs ticks after each chunk.
      setImmediate(flush);
    }
    joined.set(chunk, length);
    length += chunk.byteLength;
    return request.readableLength + length < request.readableHighWaterMark;
  };
}
