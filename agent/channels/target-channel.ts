/**
 * A channel to a target in a running container, in both directions within credit (P251). Never reads from the
 * target what it may not send.
 */
import { encodeChunk } from '../../shared/protocol/codec.ts';
import { CHUNK_BYTES } from '../../shared/streams/targets.ts';
import { Window, type WindowLink } from '../../shared/streams/window.ts';
import type { Piece, Target } from '../engine/streams/target.ts';
import type { Channel, ChannelOptions } from './channel.ts';

export interface TargetChannelOptions extends ChannelOptions {
  link: WindowLink;
  /** The largest window. */
  mostBytes: number;
  open(): Promise<Target>;
}

export class TargetChannel implements Channel {
  readonly #options: TargetChannelOptions;
  #target: Target | undefined;
  #isOver = false;
  /** For what the control plane sends. */
  #window: Window | undefined;
  #writes: Promise<void> = Promise.resolve();
  #hasInputEnded: boolean;
  #over = () => {};

  constructor(options: TargetChannelOptions) {
    this.#options = options;
    this.#hasInputEnded = options.ended === true;
  }

  get isOpened(): boolean {
    return this.#target !== undefined;
  }

  get target(): Target | undefined {
    return this.#target;
  }

  async run(): Promise<void> {
    const { channel, send } = this.#options;
    const target = await this.#options.open();
    this.#target = target;
    if (this.#isOver) return target.destroy();
    if (this.#hasInputEnded) target.end();
    else {
      this.#window = new Window(this.#options.link, { mostBytes: this.#options.mostBytes });
      send({ type: 'channel.opened', channel, credit: this.#window.credit });
    }
    const exitCode = await this.#sendAll(target);
    // A command that has ended takes no more input.
    if (this.#isOver || this.#hasInputEnded || exitCode !== undefined) return;
    await new Promise<void>((resolve) => {
      this.#over = resolve;
    });
  }

  receive(bytes: Uint8Array): boolean {
    if (bytes.length === 0 || this.#hasInputEnded || !this.#window?.receive(bytes.length)) return false;
    this.#writes = this.#writes.then(async () => {
      await this.#target?.write(bytes);
      this.#took(bytes.length);
    });
    return true;
  }

  endInput(): void {
    this.#hasInputEnded = true;
    this.#writes = this.#writes.then(() => this.#target?.end());
    this.#over();
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#window?.close();
    this.#target?.destroy();
    this.#over();
  }

  /** Resolves to the exit code, if there is one. */
  async #sendAll(target: Target): Promise<number | undefined> {
    const { channel, send } = this.#options;
    for await (const piece of target.output) {
      await this.#send(piece);
      if (this.#isOver || piece.isLast) return undefined;
    }
    const exitCode = await target.exitCode();
    if (!this.#isOver) send({ type: 'channel.end', channel, ...(exitCode !== undefined && { exitCode }) });
    return exitCode;
  }

  async #send({ bytes, source, isLast = false }: Piece): Promise<void> {
    const { channel, credit, sendBytes } = this.#options;
    const overhead = source === undefined ? 0 : 1;
    for (let from = 0; from < bytes.length && !this.#isOver; ) {
      const room = Math.min(credit.bytes, CHUNK_BYTES) - overhead;
      if (room <= 0) {
        await credit.more();
        continue;
      }
      const part = bytes.subarray(from, from + room);
      from += part.length;
      const payload = source === undefined ? part : withSource(source, part);
      credit.use(payload.length);
      await sendBytes(encodeChunk({ channel, payload, isLast: isLast && from === bytes.length }));
    }
  }

  #took(taken: number): void {
    const bytes = this.#isOver ? 0 : (this.#window?.take(taken) ?? 0);
    if (bytes > 0) this.#options.send({ type: 'channel.credit', channel: this.#options.channel, bytes });
  }
}

function withSource(source: number, bytes: Uint8Array): Uint8Array {
  const payload = new Uint8Array(1 + bytes.length);
  payload[0] = source;
  payload.set(bytes, 1);
  return payload;
}
