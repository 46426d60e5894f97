/**
 * Merges the output of several services into one stream of frames for a reader. At most one frame per
 * service waits here, so that a slow subscriber costs little memory and also stops the hosts (P9). Never
 * inspects the output.
 */
import { encodeNote, FrameSplitter, heartbeat } from '../../../shared/streams/log-frames.ts';
import type { OpenLog } from '../../operations/executions/execution-logs.ts';
import { toOperationError } from '../json/render.ts';

/** A reader that receives nothing for three times this long opens another stream. */
const HEARTBEAT_MS = 15_000;

/**
 * Opens all logs at once. A log that can't be read reports this in the stream, without affecting the others.
 */
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
      // The stream reports only the message; the cause is in the log of the host or of the coordinator.
      .catch((error: unknown) => this.#deliver(encodeNote(service, { trouble: messageOf(error) })))
      .then(() => {
        this.#running -= 1;
        this.#wake?.();
      });
  }

  /** The next frame; null if none arrives within `timeoutMs`, undefined at the end of the stream. */
  async next(timeoutMs: number): Promise<Uint8Array | null | undefined> {
    if (this.#waiting.length === 0 && this.#isOpen()) await this.#waitForFrame(timeoutMs);
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
        for (const frame of splitter.push(part.value)) await this.#deliver(frame);
      }
      await this.#deliver(encodeNote(service, { ended: true }));
    } finally {
      this.#readers.delete(reader);
    }
  }

  #isOpen = (): boolean => this.#running > 0 && !this.#closed;

  /** Resolves when the subscriber has taken the frame. */
  #deliver(frame: Uint8Array): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((taken) => {
      this.#waiting.push({ frame, taken });
      this.#wake?.();
    });
  }

  #waitForFrame(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

const messageOf = (error: unknown): string =>
  toOperationError(error)?.message ?? 'The log stream was interrupted. Berth tries again.';
