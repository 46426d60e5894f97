/**
 * Windows of channels where memory is scarce. A stalled reader costs its window, so together the windows have
 * a bound: the more of it is in use, the smaller are those of further channels.
 */
import { CHUNK_BYTES, WINDOW_BYTES } from '../../../shared/streams/targets.ts';

export interface WindowBounds {
  totalBytes: number;
  /** No channel has less, even beyond the total. */
  leastBytes: number;
}

/** For the logs of one process or isolate. */
export const logWindows: WindowBounds = { totalBytes: 8 * 2 ** 20, leastBytes: 24 * 1024 };
/** For the channels that one gateway passes on. */
export const gatewayWindows: WindowBounds = { totalBytes: 32 * 2 ** 20, leastBytes: CHUNK_BYTES };
/** A channel gets so much of what is free, up to a whole window. */
const SHARE = 1 / 16;

export class Windows {
  readonly #leastBytes: number;
  #freeBytes: number;

  constructor({ totalBytes, leastBytes }: WindowBounds = logWindows) {
    this.#leastBytes = leastBytes;
    this.#freeBytes = totalBytes;
  }

  /** Takes the window of one more channel, in bytes. At most `most`. */
  take(most = WINDOW_BYTES): number {
    const share = Math.floor(this.#freeBytes * SHARE);
    const window = Math.min(most, WINDOW_BYTES, Math.max(this.#leastBytes, share));
    this.#freeBytes -= window;
    return window;
  }

  /** The channel of that window has ended. */
  giveBack(window: number): void {
    this.#freeBytes += window;
  }
}

/**
 * Credit is granted in parts of at least that size, so that it takes few messages. In any window, also in
 * that of a gateway before it, the rest holds a line of 16 KiB, which an agent sends as a whole.
 */
export const smallestGrant = (window: number): number => Math.min(CHUNK_BYTES / 2, window / 4);
