/**
 * The output of a command as the engine streams it: frames of eight bytes and a payload. Keeps the beginning
 * only, and needs one step for each frame, however many small ones a chunk has.
 */
const HEADER_BYTES = 8;
const MAX_KEPT_BYTES = 200;
/** A command that writes more than this has failed: to carry its output costs the host processor time. */
export const MAX_OUTPUT_BYTES = 1024 * 1024;

export class CommandOutput {
  /** The bytes of the stream so far. */
  bytes = 0;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  /** What is left of the payload of the current frame. */
  #payloadBytes = 0;
  readonly #kept = Buffer.alloc(MAX_KEPT_BYTES);
  #keptBytes = 0;

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    let at = 0;
    while (at < chunk.length && this.#keptBytes < MAX_KEPT_BYTES)
      at += this.#payloadBytes > 0 ? this.#readPayload(chunk, at) : this.#readHeader(chunk, at);
  }

  /** What was kept, as one line. */
  get text(): string {
    return this.#kept
      .toString('latin1', 0, this.#keptBytes)
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim();
  }

  #readHeader(chunk: Buffer, at: number): number {
    const length = chunk.copy(this.#header, this.#headerBytes, at);
    this.#headerBytes += length;
    if (this.#headerBytes < HEADER_BYTES) return length;
    this.#headerBytes = 0;
    this.#payloadBytes = this.#header.readUInt32BE(4);
    return length;
  }

  #readPayload(chunk: Buffer, at: number): number {
    const length = Math.min(chunk.length - at, this.#payloadBytes);
    this.#keptBytes += chunk.copy(this.#kept, this.#keptBytes, at, at + length);
    this.#payloadBytes -= length;
    return length;
  }
}
