/**
 * A scripted agent's side of one channel to a container: sends what a test supplies, and never more than its
 * credit (P251).
 */

import type { WebSocket } from 'ws';
import { decodeChunk, encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import type { ChannelDown, Down } from '../../../shared/protocol/down.ts';
import { CHUNK_BYTES, WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { eventually } from '../tools/eventually.ts';

export class ScriptedStream {
  readonly opening: Extract<ChannelDown, { type: 'channel.open' }>;
  /** All later messages of the control plane on it. */
  readonly messages: ChannelDown[] = [];
  received: Uint8Array = new Uint8Array(0);
  credit: number;
  mostCredit: number;
  readonly #socket: WebSocket;

  constructor(opening: Extract<ChannelDown, { type: 'channel.open' }>, socket: WebSocket) {
    this.opening = opening;
    this.credit = opening.credit;
    this.mostCredit = opening.credit;
    this.#socket = socket;
  }

  take(message: Down): void {
    if (!message.type.startsWith('channel.') || !('channel' in message)) return;
    if (message.channel !== this.opening.channel || message === this.opening) return;
    this.messages.push(message as ChannelDown);
    if (message.type !== 'channel.credit') return;
    this.credit += message.bytes;
    this.mostCredit = Math.max(this.mostCredit, this.credit);
  }

  takeBytes(frame: Uint8Array): void {
    const { channel, payload } = decodeChunk(frame);
    if (channel === this.opening.channel) this.received = Buffer.concat([this.received, payload]);
  }

  accept(credit = WINDOW_BYTES): void {
    this.#send({ type: 'channel.opened', credit });
  }

  grant(bytes: number): void {
    this.#send({ type: 'channel.credit', bytes });
  }

  end(exitCode?: number): void {
    this.#send({ type: 'channel.end', ...(exitCode !== undefined && { exitCode }) });
  }

  reset(message: string, refused = false): void {
    this.#send({ type: 'channel.reset', refused, message });
  }

  /** Sends all bytes as credit arrives. */
  async write(bytes: Uint8Array | string): Promise<void> {
    const all = Buffer.from(bytes);
    for (let at = 0; at < all.byteLength; ) {
      await eventually(() => this.credit > 0, 60_000);
      const payload = all.subarray(at, at + Math.min(CHUNK_BYTES, this.credit));
      at += payload.byteLength;
      this.credit -= payload.byteLength;
      this.flood(payload);
    }
  }

  /** Sends bytes whether there is credit or not. */
  flood(payload: Uint8Array): void {
    this.#socket.send(encodeChunk({ channel: this.opening.channel, payload }));
  }

  #send(message: object): void {
    this.#socket.send(encode({ ...message, channel: this.opening.channel } as never));
  }
}
