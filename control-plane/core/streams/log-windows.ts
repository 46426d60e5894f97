/**
 * Windows of log streams where memory is scarce. A stalled reader costs its window, so together the windows
 * have a bound: the more of it is in use, the smaller are those of further streams.
 */
import { LOG_CHUNK_BYTES, LOG_WINDOW_BYTES } from '../../../shared/protocol/codec.ts';

export const TOTAL_WINDOW_BYTES = 8 * 2 ** 20;
/** No stream has less, even beyond the total. */
export const MIN_WINDOW_BYTES = 16 * 1024;
/** A stream gets so much of what is free, up to a whole window. */
const SHARE = 1 / 16;

export class LogWindows {
  #freeBytes = TOTAL_WINDOW_BYTES;

  /** Takes the window of one more stream, in bytes. At most `most`. */
  take(most = LOG_WINDOW_BYTES): number {
    const share = Math.floor(this.#freeBytes * SHARE);
    const window = Math.min(most, LOG_WINDOW_BYTES, Math.max(MIN_WINDOW_BYTES, share));
    this.#freeBytes -= window;
    return window;
  }

  /** The stream of that window has ended. */
  giveBack(window: number): void {
    this.#freeBytes += window;
  }
}

/** Credit is granted in parts of at least that size, so that it takes few messages. */
export const smallestGrant = (window: number): number => Math.min(LOG_CHUNK_BYTES, window / 4);

/**
 * The largest window of a stream whose chunks pass on into one of `window`. A chunk must fit into that one
 * even if the smallest grant is outstanding, or it would wait for ever.
 */
export const windowBefore = (window: number): number =>
  window - smallestGrant(window) >= LOG_CHUNK_BYTES ? LOG_WINDOW_BYTES : Math.floor(window / 2);
