/**
 * Image removal: decides when images that this deployment pulled go, by their age and by the space on the
 * disk (P182, P184). Which image goes is the engine's decision.
 */
import type { Engine, RemovedImage } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';

export interface ImageRemovalOptions {
  engine: Pick<Engine, 'removeUnusedImage'>;
  /** Images of all assignments. Undefined before the first sync: then no image is removed. */
  wanted(): readonly string[] | undefined;
  /** Unused images go after so many days. 0: no image is ever removed. */
  keepDays: number;
  /** Whether the engine's disk has less space than the host needs. */
  isLow(): Promise<boolean>;
  log: Logger;
}

const DAY_MS = 86_400_000;

export class ImageRemoval {
  readonly #options: ImageRemovalOptions;
  #isRunning = false;
  #failure = '';

  constructor(options: ImageRemovalOptions) {
    this.#options = options;
  }

  /** Removes what is too old, and then what the disk requires. Never rejects. One round runs at a time. */
  async round(): Promise<void> {
    const { keepDays, isLow } = this.#options;
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (await this.#removeOne(keepDays * DAY_MS, 'unused'));
    while ((await isLow()) && (await this.removeForDisk()));
    this.#isRunning = false;
  }

  /** Removes the image that nobody has used for longest. False if there is none. Never rejects. */
  removeForDisk(): Promise<boolean> {
    return this.#removeOne(0, 'disk');
  }

  async #removeOne(unusedMs: number, cause: 'unused' | 'disk'): Promise<boolean> {
    const { engine, wanted, keepDays, log } = this.#options;
    if (keepDays === 0 || !wanted()) return false;
    try {
      const removed = await engine.removeUnusedImage({ wanted: () => wanted() ?? [], unusedMs });
      this.#failure = '';
      if (removed) log('image.removed', { ...fieldsOf(removed), cause });
      return removed !== undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== this.#failure) log('image.removal-failed', { reason });
      this.#failure = reason;
      return false;
    }
  }
}

const fieldsOf = ({ image, bytes, unusedMs }: RemovedImage) => ({
  image,
  bytes,
  unusedDays: Math.floor(unusedMs / DAY_MS),
});
