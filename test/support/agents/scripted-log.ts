/**
 * A scripted agent's side of one channel to output: sends what a test supplies, and never more than its
 * credit (P9).
 */
import type { WebSocket } from 'ws';
import { encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import type { Down } from '../../../shared/protocol/down.ts';
import { encodeFrame, FRAME_HEADER_BYTES } from '../../../shared/streams/log-frames.ts';
import { CHUNK_BYTES, type OutputTarget } from '../../../shared/streams/targets.ts';
import { eventually } from '../tools/eventually.ts';

type Opening = Extract<Down, { type: 'channel.open' }>;

export class ScriptedLog {
  readonly opened: Omit<Opening, 'target'> & OutputTarget;
  /** The credit granted in total, and the maximum that was granted but unused at one time. */
  granted: number;
  mostCredit: number;
  /** Bytes of output, and those that took credit. */
  written = 0;
  sent = 0;
  /** The subscriber has left, or the connection is gone. */
  closed = false;
  readonly #socket: WebSocket;

  constructor({ target, ...opening }: Opening, socket: WebSocket) {
    this.opened = { ...opening, ...(target as OutputTarget) };
    this.granted = opening.credit;
    this.mostCredit = opening.credit;
    this.#socket = socket;
    this.#send({ type: 'channel.opened' });
  }

  get credit(): number {
    return this.granted - this.sent;
  }

  take(message: Down): void {
    if (!('channel' in message) || message.channel !== this.opened.channel) return;
    if (message.type === 'channel.reset') this.closed = true;
    if (message.type !== 'channel.credit') return;
    this.granted += message.bytes;
    this.mostCredit = Math.max(this.mostCredit, this.credit);
  }

  /** Sends all bytes as credit arrives. The log that they come from begins at `from`. */
  async write(bytes: Uint8Array | string, from = this.opened.offset + this.written): Promise<void> {
    const all = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    for (let at = 0; at < all.byteLength; ) {
      await eventually(() => this.credit > FRAME_HEADER_BYTES || this.closed, 60_000);
      if (this.closed) return;
      const payload = all.subarray(at, at + Math.min(CHUNK_BYTES, this.credit) - FRAME_HEADER_BYTES);
      at += payload.byteLength;
      this.flood(payload, from + at);
    }
  }

  /** Sends one frame, whether there is credit or not. */
  flood(payload: Uint8Array, next: number): void {
    const { channel, service, generation } = this.opened;
    this.written += payload.byteLength;
    this.sent += FRAME_HEADER_BYTES + payload.byteLength;
    const frame = encodeFrame({ service, position: { generation, offset: next }, payload });
    this.#socket.send(encodeChunk({ channel, payload: frame }));
  }

  end(): void {
    this.#send({ type: 'channel.end' });
  }

  missing(): void {
    this.#send({ type: 'channel.end', missing: true });
  }

  fail(message: string): void {
    this.#send({ type: 'channel.reset', refused: false, message });
  }

  #send(message: object): void {
    this.#socket.send(encode({ ...message, channel: this.opened.channel } as never));
  }
}
