/**
 * A scripted agent's side of one stream: sends what a test supplies, and never more than its credit (P251).
 */
import type { WebSocket } from 'ws';
import { decodeChunk, encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import type { Down, StreamDown } from '../../../shared/protocol/down.ts';
import { STREAM_CHUNK_BYTES, STREAM_WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { eventually } from '../tools/eventually.ts';

export class ScriptedStream {
  readonly opening: Extract<StreamDown, { type: 'stream.open' }>;
  /** All later messages of the control plane on it. */
  readonly messages: StreamDown[] = [];
  received: Uint8Array = new Uint8Array(0);
  credit: number;
  mostCredit: number;
  #sent = 0;
  readonly #socket: WebSocket;

  constructor(opening: Extract<StreamDown, { type: 'stream.open' }>, socket: WebSocket) {
    this.opening = opening;
    this.credit = opening.credit;
    this.mostCredit = opening.credit;
    this.#socket = socket;
  }

  take(message: Down): void {
    if (!message.type.startsWith('stream.') || !('stream' in message)) return;
    if (message.stream !== this.opening.stream || message === this.opening) return;
    this.messages.push(message as StreamDown);
    if (message.type !== 'stream.credit') return;
    this.credit += message.bytes;
    this.mostCredit = Math.max(this.mostCredit, this.credit);
  }

  takeBytes(frame: Uint8Array): void {
    const { stream, payload } = decodeChunk(frame);
    if (stream === this.opening.stream) this.received = Buffer.concat([this.received, payload]);
  }

  accept(credit = STREAM_WINDOW_BYTES): void {
    this.#send({ type: 'stream.opened', credit });
  }

  grant(bytes: number): void {
    this.#send({ type: 'stream.credit', bytes });
  }

  end(exitCode?: number): void {
    this.#send({ type: 'stream.end', ...(exitCode !== undefined && { exitCode }) });
  }

  reset(message: string, refused = false): void {
    this.#send({ type: 'stream.reset', refused, message });
  }

  /** Sends all bytes as credit arrives. */
  async write(bytes: Uint8Array | string): Promise<void> {
    const all = Buffer.from(bytes);
    for (let at = 0; at < all.byteLength; ) {
      await eventually(() => this.credit > 0, 60_000);
      const payload = all.subarray(at, at + Math.min(STREAM_CHUNK_BYTES, this.credit));
      at += payload.byteLength;
      this.credit -= payload.byteLength;
      this.flood(payload);
    }
  }

  /** Sends bytes whether there is credit or not. */
  flood(payload: Uint8Array): void {
    this.#sent += payload.byteLength;
    this.#socket.send(encodeChunk({ stream: this.opening.stream, next: this.#sent, payload }));
  }

  #send(message: object): void {
    this.#socket.send(encode({ ...message, stream: this.opening.stream } as never));
  }
}
