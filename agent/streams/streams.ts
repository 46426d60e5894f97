/** The open streams of one connection. A stream never outlives its connection (P252). */
import type { LogChunk } from '../../shared/protocol/codec.ts';
import type { StreamDown } from '../../shared/protocol/down.ts';
import type { StreamUp } from '../../shared/protocol/up.ts';
import { MAX_STREAMS } from '../../shared/streams/targets.ts';
import type { OpenTarget } from '../engine/streams/target.ts';
import { Stream } from './stream.ts';

export interface StreamsOptions {
  open: OpenTarget;
  send(message: StreamUp): void;
  sendBytes(bytes: Uint8Array): Promise<void>;
}

export class Streams {
  readonly #options: StreamsOptions;
  readonly #open = new Map<number, Stream>();

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  /** Messages for a stream that is over are ignored: they may have been in transit. */
  receive(message: StreamDown): void {
    const stream = this.#open.get(message.stream);
    switch (message.type) {
      case 'stream.open':
        this.#begin(message);
        break;
      case 'stream.credit':
        stream?.grant(message.bytes);
        break;
      case 'stream.end':
        stream?.endInput();
        break;
      case 'stream.reset':
        stream?.destroy();
        break;
      case 'stream.resize':
        stream?.target?.resize(message);
        break;
      case 'stream.signal':
        stream?.target?.signal(message.signal);
    }
  }

  /** False if the chunk exceeds its stream's credit. */
  chunk({ stream, payload }: LogChunk): boolean {
    return this.#open.get(stream)?.receive(payload) ?? true;
  }

  closeAll(): void {
    for (const stream of [...this.#open.values()]) stream.destroy();
  }

  #begin({
    stream: number,
    service,
    generation,
    target,
    credit,
  }: Extract<StreamDown, { type: 'stream.open' }>) {
    const { open, send, sendBytes } = this.#options;
    if (this.#open.size >= MAX_STREAMS) {
      const message = `the host has ${MAX_STREAMS} streams open, which is its maximum; try again later`;
      send({ type: 'stream.reset', stream: number, refused: true, message });
      return;
    }
    this.#open.get(number)?.destroy();
    const stream: Stream = new Stream({
      number,
      credit,
      open: () => open({ service, generation }, target),
      send,
      sendBytes,
      over: () => {
        if (this.#open.get(number) === stream) this.#open.delete(number);
      },
    });
    this.#open.set(number, stream);
    void stream.run();
  }
}
