/**
 * Owns the one stream in which a browser gets the output of several services: frames of all of them, as they come. Of each
 * service at most one frame waits here, so that a reader that stops costs little and stops the hosts as well (P9). Never
 * looks into the output.
 */
import { encodeNote, FrameSplitter, heartbeat } from '../core/streams/log-frames.ts';
import { toOperationError } from '../http/json/render.ts';
import type { OpenLog } from '../operations/executions/execution-logs.ts';

/** A stream that is silent for longer than two of these is broken, and the browser opens another. */
const HEARTBEAT_MS = 15_000;

/** Opens all at once; one that can't be read says so in the stream and leaves the others alone. */
export function mergedLogs(opens: ReadonlyMap<number, OpenLog>): ReadableStream<Uint8Array> {
  const merge = new Merge();
  return new ReadableStream({
    start() {
      for (const [service, open] of opens) merge.add(service, open);
    },
    async pull(controller) {
      const frame = await merge.next(HEARTBEAT_MS);
      if (frame !== undefined) return controller.enqueue(frame ?? heartbeat());
      controller.close();
    },
    cancel: () => merge.close(),
  });
}

interface Waiting {
  frame: Uint8Array;
  taken: () => void;
}

class Merge {
  readonly #readers = new Set<ReadableStreamDefaultReader<Uint8Array>>();
  readonly #waiting: Waiting[] = [];
  #running = 0;
  #closed = false;
  #wake: (() => void) | undefined;

  add(service: number, open: OpenLog): void {
    this.#running += 1;
    void this.#pass(service, open)
      // Told in the stream; what it is about, the log of the host or of the coordinator says.
      .catch((error: unknown) => this.#offer(encodeNote(service, { trouble: wordsOf(error) })))
      .then(() => {
        this.#running -= 1;
        this.#wake?.();
      });
  }

  /** The next frame; null where none came within `patienceMs`, undefined when no more will come. */
  async next(patienceMs: number): Promise<Uint8Array | null | undefined> {
    if (this.#waiting.length === 0 && this.#isOpen()) await this.#something(patienceMs);
    const first = this.#waiting.shift();
    first?.taken();
    return first ? first.frame : this.#isOpen() ? null : undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { taken } of this.#waiting.splice(0)) taken();
    this.#wake?.();
    await Promise.all([...this.#readers].map((reader) => reader.cancel().catch(() => {})));
  }

  async #pass(service: number, open: OpenLog): Promise<void> {
    const reader = (await open()).getReader();
    if (this.#closed) return reader.cancel();
    this.#readers.add(reader);
    try {
      const splitter = new FrameSplitter();
      for (let part = await reader.read(); !part.done && !this.#closed; part = await reader.read()) {
        for (const frame of splitter.push(part.value)) await this.#offer(frame);
      }
      await this.#offer(encodeNote(service, { ended: true }));
    } finally {
      this.#readers.delete(reader);
    }
  }

  #isOpen = (): boolean => this.#running > 0 && !this.#closed;

  /** Resolves when the frame was taken. */
  #offer(frame: Uint8Array): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((taken) => {
      this.#waiting.push({ frame, taken });
      this.#wake?.();
    });
  }

  #something(patienceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), patienceMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

const wordsOf = (error: unknown): string =>
  toOperationError(error)?.message ?? 'The log stream was interrupted. Berth tries again.';
