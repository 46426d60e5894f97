/**
 * One stream between the control plane and a target, in both directions within credit (P251). Never reads
 * from the target what it may not send.
 */
import { encodeChunk } from '../../shared/protocol/codec.ts';
import type { StreamUp } from '../../shared/protocol/up.ts';
import { STREAM_CHUNK_BYTES, STREAM_WINDOW_BYTES } from '../../shared/streams/targets.ts';
import type { Piece, Target } from '../engine/streams/target.ts';
import { messageOf } from '../logger.ts';
import { withResolvers } from '../with-resolvers.ts';

/** The control plane gets credit back in parts of this size. */
const GRANT_BYTES = STREAM_WINDOW_BYTES / 4;

export interface StreamOptions {
  number: number;
  /** Bytes that may be sent at first. */
  credit: number;
  open(): Promise<Target>;
  send(message: StreamUp): void;
  /** Resolves when the bytes have left this process. */
  sendBytes(bytes: Uint8Array): Promise<void>;
  /** Called once, when the stream is over on this side. */
  over(): void;
}

export class Stream {
  readonly #options: StreamOptions;
  #target: Target | undefined;
  #isOver = false;
  #credit: number;
  #mayContinue = () => {};
  #sentBytes = 0;
  /**
   * Bytes that the control plane may still send, and those that the target has taken since the last grant.
   */
  #granted = 0;
  #taken = 0;
  #writes: Promise<void> = Promise.resolve();
  #hasInputEnded = false;
  #hasOutputEnded = false;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#credit = options.credit;
  }

  /** Resolves when the stream is over. Never rejects. */
  async run(): Promise<void> {
    const { number: stream, send } = this.#options;
    try {
      this.#target = await this.#options.open();
    } catch (error) {
      this.#reset(messageOf(error), true);
      return;
    }
    if (this.#isOver) {
      this.#target.destroy();
      return;
    }
    this.#granted = STREAM_WINDOW_BYTES;
    send({ type: 'stream.opened', stream, credit: STREAM_WINDOW_BYTES });
    try {
      await this.#pass(this.#target);
    } catch (error) {
      this.#reset(messageOf(error), false);
    }
  }

  /** False if the bytes exceed the credit, or follow the end. */
  receive(bytes: Uint8Array): boolean {
    if (bytes.length === 0 || bytes.length > this.#granted || this.#hasInputEnded) return false;
    this.#granted -= bytes.length;
    this.#writes = this.#writes.then(async () => {
      await this.#target?.write(bytes);
      this.#took(bytes.length);
    });
    return true;
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    this.#mayContinue();
  }

  endInput(): void {
    this.#hasInputEnded = true;
    this.#writes = this.#writes.then(() => this.#target?.end());
    if (this.#hasOutputEnded) this.destroy();
  }

  get target(): Target | undefined {
    return this.#target;
  }

  /** Ends the stream without a message. */
  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#mayContinue();
    this.#target?.destroy();
    this.#options.over();
  }

  async #pass(target: Target): Promise<void> {
    const { number: stream, send } = this.#options;
    for await (const piece of target.output) {
      await this.#sendPiece(piece);
      if (this.#isOver) return;
    }
    const exitCode = await target.exitCode();
    if (this.#isOver) return;
    this.#hasOutputEnded = true;
    send({ type: 'stream.end', stream, ...(exitCode !== undefined && { exitCode }) });
    // A command that has ended takes no more input.
    if (this.#hasInputEnded || exitCode !== undefined) this.destroy();
  }

  async #sendPiece({ bytes, channel }: Piece): Promise<void> {
    const overhead = channel === undefined ? 0 : 1;
    for (let from = 0; from < bytes.length && !this.#isOver; ) {
      const room = Math.min(this.#credit, STREAM_CHUNK_BYTES) - overhead;
      if (room <= 0) {
        const { promise, resolve } = withResolvers<void>();
        this.#mayContinue = resolve;
        await promise;
        continue;
      }
      const part = bytes.subarray(from, from + room);
      from += part.length;
      await this.#sendChunk(channel === undefined ? part : withChannel(channel, part));
    }
  }

  async #sendChunk(payload: Uint8Array): Promise<void> {
    this.#credit -= payload.length;
    this.#sentBytes += payload.length;
    const frame = encodeChunk({ stream: this.#options.number, next: this.#sentBytes, payload });
    await this.#options.sendBytes(frame);
  }

  #took(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < GRANT_BYTES || this.#isOver) return;
    this.#granted += this.#taken;
    this.#options.send({ type: 'stream.credit', stream: this.#options.number, bytes: this.#taken });
    this.#taken = 0;
  }

  #reset(message: string, refused: boolean): void {
    if (this.#isOver) return;
    this.#options.send({ type: 'stream.reset', stream: this.#options.number, refused, message });
    this.destroy();
  }
}

function withChannel(channel: number, bytes: Uint8Array): Uint8Array {
  const payload = new Uint8Array(1 + bytes.length);
  payload[0] = channel;
  payload.set(bytes, 1);
  return payload;
}
