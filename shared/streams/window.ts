/**
 * Windows: how much the receiving side of a channel lets the other side send before it has taken what came. A
 * window doubles each round trip as long as that makes the channel faster, and then is a little more than
 * what a round trip carries, so that a channel fills a distant connection and hardly more: what is queued on
 * the way delays every other message.
 */
import { CHUNK_BYTES, MAX_WINDOW_BYTES, WINDOW_BYTES } from './targets.ts';

/** All windows of one connection have that together, and a little more if they are many. */
export const CONNECTION_WINDOW_BYTES = 16 * 2 ** 20;
/** The least window. */
export const LEAST_WINDOW_BYTES = 24 * 1024;
/** A new window gets so much of what is free, within these bounds. */
const SHARE = 1 / 256;

/** A channel that is that much faster than in the round trip before may become faster still. */
const FASTER = 1.2;
/** What a window is of what a round trip carries: while the channel becomes faster, and then. */
const WHILE_FASTER = 2;
const SPARE = 1.25;

/** Memory that windows share. A stalled reader costs its window. */
export class WindowMemory {
  readonly #within: WindowMemory | undefined;
  #freeBytes: number;

  /** `within`: what all of this counts towards as well. */
  constructor(totalBytes: number, within?: WindowMemory) {
    this.#freeBytes = totalBytes;
    this.#within = within;
  }

  get freeBytes(): number {
    return Math.min(this.#freeBytes, this.#within?.freeBytes ?? Number.POSITIVE_INFINITY);
  }

  /** Takes what there is of it. Returns how much that is. */
  take(bytes: number): number {
    const taken = Math.max(0, Math.min(bytes, this.freeBytes));
    this.use(taken);
    return taken;
  }

  /** Takes it even if there is less. Negative: gives it back. */
  use(bytes: number): void {
    this.#freeBytes -= bytes;
    this.#within?.use(bytes);
  }
}

/** What the windows of one connection have in common. */
export interface WindowLink {
  memory: WindowMemory;
  /** Monotonic. */
  nowMs(): number;
  /** The shortest round trip that any of them has seen. */
  roundTripMs?: number;
  /** By a gateway, which keeps the part of a grant for which it has no memory: windows can't shrink. */
  isPassedOn?: true;
}

/** The bytes of a grant, whose first ones show how long a round trip is, and the way to the reader. */
interface Probe {
  /** Bytes that come before them. */
  after: number;
  sinceMs: number;
  /** When the first ones came. */
  cameMs?: number;
}

export class Window {
  readonly #link: WindowLink;
  readonly #mostBytes: number;
  readonly #firstBytes: number;
  #bytes: number;
  /** What it shrinks to as soon as as much of what was granted is taken. */
  #wanted: number;
  /** Bytes that the other side may still send, and those that came and were not taken yet. */
  #credit: number;
  #held: number;
  #received = 0;
  #probe: Probe | undefined;
  /** The shortest time from the arrival of bytes until they were taken. */
  #readerMs = Number.POSITIVE_INFINITY;
  /** What was taken in the present round trip, and in the one before. */
  #round: { sinceMs: number; bytes: number };
  #before = 0;

  /** `heldBytes`: what is here already, of a channel before. The credit may then be 0. */
  constructor(link: WindowLink, { heldBytes = 0, mostBytes = MAX_WINDOW_BYTES } = {}) {
    this.#link = link;
    this.#mostBytes = mostBytes;
    const share = Math.floor(link.memory.freeBytes * SHARE);
    this.#firstBytes = Math.max(LEAST_WINDOW_BYTES, Math.min(WINDOW_BYTES, share));
    this.#bytes = this.#firstBytes;
    this.#wanted = this.#firstBytes;
    link.memory.use(this.#bytes);
    this.#held = heldBytes;
    this.#credit = Math.max(0, this.#bytes - heldBytes);
    this.#round = { sinceMs: link.nowMs(), bytes: 0 };
  }

  /** Bytes that the other side may send. */
  get credit(): number {
    return this.#credit;
  }

  /** Bytes that came and were not taken yet. */
  get held(): number {
    return this.#held;
  }

  /** What the other side may have on the way and here. */
  get bytes(): number {
    return this.#bytes;
  }

  /** False if that exceeds the credit. */
  receive(bytes: number): boolean {
    if (bytes > this.#credit) return false;
    this.#credit -= bytes;
    this.#held += bytes;
    this.#received += bytes;
    const probe = this.#probe;
    if (probe && probe.cameMs === undefined && this.#received > probe.after) {
      probe.cameMs = this.#link.nowMs();
      const sampleMs = probe.cameMs - probe.sinceMs;
      this.#link.roundTripMs = Math.min(this.#link.roundTripMs ?? Number.POSITIVE_INFINITY, sampleMs);
    }
    return true;
  }

  /** So many bytes are no longer here. Returns how many to grant now; 0: none yet. */
  take(bytes: number): number {
    this.#held -= bytes;
    this.#round.bytes += bytes;
    const { after = 0, cameMs } = this.#probe ?? {};
    if (cameMs !== undefined && this.#received - this.#held > after) {
      this.#readerMs = Math.min(this.#readerMs, this.#link.nowMs() - cameMs);
      this.#probe = undefined;
    }
    this.#adapt();
    if (this.#bytes > this.#wanted && !this.#link.isPassedOn) this.#shrink();
    const grant = this.#bytes - this.#credit - this.#held;
    if (grant < leastGrant(this.#bytes)) return 0;
    this.#probe ??= { after: this.#received + this.#credit, sinceMs: this.#link.nowMs() };
    this.#credit += grant;
    return grant;
  }

  close(): void {
    this.#link.memory.use(-this.#bytes);
    this.#bytes = 0;
  }

  /** Once in a round trip. */
  #adapt(): void {
    const { roundTripMs = 0, memory, nowMs } = this.#link;
    const sinceMs = nowMs() - this.#round.sinceMs;
    const roundMs = Math.max(1, roundTripMs + this.#readerMs);
    if (sinceMs < roundMs) return;
    const carried = (this.#round.bytes * roundMs) / sinceMs;
    const isFaster = carried > FASTER * this.#before;
    const wanted = isFaster ? WHILE_FASTER * carried : SPARE * Math.max(carried, this.#before);
    this.#before = carried;
    this.#round = { sinceMs: nowMs(), bytes: 0 };
    this.#wanted = Math.max(this.#firstBytes, Math.min(this.#mostBytes, Math.floor(wanted)));
    this.#bytes += memory.take(this.#wanted - this.#bytes);
  }

  /** What was granted stays granted. */
  #shrink(): void {
    const bytes = Math.max(this.#wanted, this.#credit + this.#held);
    this.#link.memory.use(bytes - this.#bytes);
    this.#bytes = bytes;
  }
}

/**
 * Credit is granted in parts of at least that size, so that it takes few messages. In any window, also in
 * that of a gateway before it, the rest holds a line of 16 KiB, which an agent sends as a whole.
 */
export const leastGrant = (bytes: number): number => Math.min(CHUNK_BYTES / 2, bytes / 4);
