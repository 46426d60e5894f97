/** Watches the heap of one isolate over restarts of workerd. */
import { setTimeout as pause } from 'node:timers/promises';
import { type HeapUsage, IsolateInspector } from '../../test/support/hosts/isolate-heap.ts';

const ISOLATE = 'berth0';
const SAMPLE_MS = 100;
/** Collections for one figure, of which the least counts: work goes on meanwhile. */
const COLLECTIONS = 4;
const BETWEEN_MS = 500;

const NOTHING: HeapUsage = { heapMb: 0, buffersMb: 0 };

export const totalMb = ({ heapMb, buffersMb }: HeapUsage): number => heapMb + buffersMb;

export class HeapWatch {
  readonly #address: string;
  #inspector: IsolateInspector | undefined;
  #largest: HeapUsage = NOTHING;
  #isOver = false;
  readonly #sampling: Promise<void>;

  constructor(address: string) {
    this.#address = address;
    this.#sampling = this.#sample();
  }

  /** The largest heap and the largest buffers since the last call, garbage included. */
  takeLargest(): HeapUsage {
    const largest = this.#largest;
    this.#largest = NOTHING;
    return largest;
  }

  async live(): Promise<HeapUsage> {
    const inspector = this.#present();
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
    this.#isOver = true;
    return await this.#present().fill(512);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#sampling;
    this.#inspector?.close();
  }

  #present(): IsolateInspector {
    if (!this.#inspector) throw new Error('workerd has no inspector');
    return this.#inspector;
  }

  async #sample(): Promise<void> {
    while (!this.#isOver) {
      try {
        this.#inspector ??= await IsolateInspector.connect(this.#address, ISOLATE);
        const { heapMb, buffersMb } = await this.#inspector.usage();
        this.#largest = {
          heapMb: Math.max(this.#largest.heapMb, heapMb),
          buffersMb: Math.max(this.#largest.buffersMb, buffersMb),
        };
      } catch {
        // workerd has ended, or has not started yet.
        this.#inspector = undefined;
      }
      await pause(SAMPLE_MS);
    }
  }
}
