/**
 * A permit of a stream on its way from the coordinator to a gateway, as workerd passes streams between
 * objects: it breaks when the coordinator ends, which notices that its reader has left only when it next
 * writes.
 */
import type { Process, World } from '../world/time.ts';

const LOOK_MS = 1_000;

export class RemotePermit {
  readonly stream: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isOver = false;

  constructor(world: World, source: Process, permit: ReadableStream<Uint8Array>) {
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => this.abandon(),
    });
    void this.#pass(permit.getReader()).catch(() => this.#break());
    const look = () => {
      if (!source.alive) this.#break();
      else if (!this.#isOver) world.after(LOOK_MS, look);
    };
    look();
  }

  /** Nobody reads it. */
  abandon(): void {
    this.#isOver = true;
  }

  async #pass(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read();
      if (this.#isOver) return reader.cancel();
      if (done) return this.#close();
      this.#controller?.enqueue(value);
    }
  }

  #close(): void {
    this.#isOver = true;
    this.#controller?.close();
  }

  #break(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#controller?.error(new Error('the object was reset'));
  }
}
