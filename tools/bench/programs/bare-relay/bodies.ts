/** The bodies of a request and its answer at a process of the bare relay: one is sent, one is written. */
import type { Readable, Writable } from 'node:stream';
import { type Frame, jsonBytes, jsonOf, type Kind, kinds, TAKEN_BYTES, WINDOW_BYTES } from './frames.ts';

type Send = (kind: Kind, bytes?: Uint8Array) => void;

export class Bodies {
  readonly #send: Send;
  #source: Readable | undefined;
  #room = WINDOW_BYTES;
  #taken = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Reads no further than the other side has room. */
  sendFrom(source: Readable): void {
    this.#source = source;
    source.on('data', (bytes: Buffer) => {
      this.#room -= bytes.length;
      this.#send(kinds.data, bytes);
      if (this.#room <= 0) source.pause();
    });
    source.on('end', () => this.#send(kinds.end));
  }

  receive({ kind, bytes }: Frame, sink: Writable): void {
    if (kind === kinds.data) sink.write(bytes, () => this.#took(bytes.length));
    else if (kind === kinds.end) sink.end();
    else {
      this.#room += jsonOf(bytes);
      if (this.#room > 0) this.#source?.resume();
    }
  }

  #took(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < TAKEN_BYTES) return;
    this.#send(kinds.taken, jsonBytes(this.#taken));
    this.#taken = 0;
  }
}
