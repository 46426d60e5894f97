/** Watches the heap of one isolate over restarts of workerd. */
import { setTimeout as pause } from 'node:timers/promises';
import { type HeapUsage, IsolateInspector } from '../../support/hosts/isolate-heap.ts';

const ISOLATE = 'berth0';
const SAMPLE_MS = 100;
/** Collections for one figure, of which the least counts: work goes on meanwhile. */
const COLLECTIONS = 4;
const BETWEEN_MS = 500;

export const totalMb = ({ heapMb, buffersMb }: HeapUsage): number => heapMb + buffersMb;

export class HeapWatch {
  readonly #address: string;
  #inspector: IsolateInspector | undefined;
  #largestMb = 0;
  #isOver = false;
  readonly #sampling: Promise<void>;

  constructor(address: string) {
    this.#address = address;
    this.#sampling = this.#sample();
  }

  /** The most that a sample since the last call has found in heap and buffers, garbage included. */
  takeLargestMb(): number {
    const largest = this.#largestMb;
    this.#largestMb = 0;
    return largest;
  }

  /** What is live. */
  async live(): Promise<HeapUsage> {
    const inspector = this.#inspector;
    if (!inspector) throw new Error('workerd has no inspector');
    const found: HeapUsage[] = [];
    for (let n = 0; n < COLLECTIONS; n++) {
      if (n > 0) await pause(BETWEEN_MS);
      await inspector.collectGarbage();
      found.push(await inspector.usage());
    }
    const least = (of: keyof HeapUsage) => Math.min(...found.map((one) => one[of]));
    return { heapMb: least('heapMb'), buffersMb: least('buffersMb') };
  }

  /** Megabytes that the isolate could hold beside all that it holds. Ends workerd. */
  async room(): Promise<number> {
    const inspector = this.#inspector;
    if (!inspector) throw new Error('workerd has no inspector');
    this.#isOver = true;
    return await inspector.fill(512);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#sampling;
    this.#inspector?.close();
  }

  async #sample(): Promise<void> {
    while (!this.#isOver) {
      try {
        this.#inspector ??= await IsolateInspector.connect(this.#address, ISOLATE);
        const { heapMb, buffersMb } = await this.#inspector.usage();
        this.#largestMb = Math.max(this.#largestMb, heapMb + buffersMb);
      } catch {
        // workerd has ended, or has not started yet.
        this.#inspector = undefined;
      }
      await pause(SAMPLE_MS);
    }
  }
}
