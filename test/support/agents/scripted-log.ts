/**
 * A scripted agent's side of one log stream: sends what a test supplies, and never more than its credit (P9).
 */
import type { WebSocket } from 'ws';
import { encode, encodeChunk, LOG_CHUNK_BYTES } from '../../../shared/protocol/codec.ts';
import type { Down } from '../../../shared/protocol/down.ts';
import { eventually } from '../tools/eventually.ts';

export class ScriptedLog {
  readonly opened: Extract<Down, { type: 'logs.open' }>;
  /** The credit granted in total, and the maximum that was granted but unused at one time. */
  granted: number;
  mostCredit: number;
  sent = 0;
  /** The subscriber has left, or the connection is gone. */
  closed = false;
  readonly #socket: WebSocket;

  constructor(opened: Extract<Down, { type: 'logs.open' }>, socket: WebSocket) {
    this.opened = opened;
    this.granted = opened.credit;
    this.mostCredit = opened.credit;
    this.#socket = socket;
  }

  get credit(): number {
    return this.granted - this.sent;
  }

  take(message: Down): void {
    if (!('stream' in message) || message.stream !== this.opened.stream) return;
    if (message.type === 'logs.close') this.closed = true;
    if (message.type !== 'logs.credit') return;
    this.granted += message.bytes;
    this.mostCredit = Math.max(this.mostCredit, this.credit);
  }

  /** Sends all bytes as credit arrives. The log that they come from begins at `from`. */
  async write(bytes: Uint8Array | string, from = this.opened.offset + this.sent): Promise<void> {
    const all = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    for (let at = 0; at < all.byteLength; ) {
      await eventually(() => this.credit > 0 || this.closed, 60_000);
      if (this.closed) return;
      const payload = all.subarray(at, at + Math.min(LOG_CHUNK_BYTES, this.credit));
      at += payload.byteLength;
      this.sent += payload.byteLength;
      this.#socket.send(encodeChunk({ stream: this.opened.stream, next: from + at, payload }));
    }
  }

  end(reason: 'exited' | 'missing' | 'failed' = 'exited', message?: string): void {
    const detail = message === undefined ? {} : { message };
    this.#socket.send(encode({ type: 'logs.end', stream: this.opened.stream, reason, ...detail }));
  }
}
