/**
 * Retained events: the latest events of one epoch of the coordinator, with their ids `<epoch>-<sequence>`.
 * Pure.
 */
import type { ClusterEvent, EventFrame } from './events.ts';

/**
 * Seconds of a busy cluster, hours of a quiet one. At most some megabytes, because every text in an event is
 * bounded.
 */
const RETAINED = 5_000;

export class EventRing {
  readonly #epoch: number;
  readonly #size: number;
  readonly #events: ClusterEvent[] = [];
  /** Frames of the events that a subscriber has read; all subscribers share them. */
  readonly #texts: (string | undefined)[] = [];
  /** Sequence of the latest event; 0 before the first one. */
  #last = 0;

  constructor(epoch: number, size = RETAINED) {
    this.#epoch = epoch;
    this.#size = size;
  }

  /** Where a subscriber that has read every event continues. */
  get next(): number {
    return this.#last + 1;
  }

  add(event: ClusterEvent): void {
    this.#last += 1;
    this.#events[this.#last % this.#size] = event;
    this.#texts[this.#last % this.#size] = undefined;
  }

  /** Whether all events from `sequence` on are retained. */
  has(sequence: number): boolean {
    return sequence >= 1 && sequence > this.#last - this.#size && sequence <= this.next;
  }

  /** A retained event, or undefined at `next`. */
  at(sequence: number): ClusterEvent | undefined {
    return sequence <= this.#last ? this.#events[sequence % this.#size] : undefined;
  }

  /** The frame of a retained event. */
  textAt(sequence: number): string {
    const index = sequence % this.#size;
    const event = this.#events[index];
    if (!event) throw new Error(`event ${sequence} is not retained`);
    const text = this.#texts[index] ?? frameText({ id: this.idOf(sequence), event });
    this.#texts[index] = text;
    return text;
  }

  idOf(sequence: number): string {
    return `${this.#epoch}-${sequence}`;
  }

  /**
   * The sequence after the event with this id; undefined if the id is unknown or its successor is no longer
   * retained.
   */
  after(id: string): number | undefined {
    const [, epoch, sequence] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
    if (Number(epoch) !== this.#epoch) return undefined;
    const next = Number(sequence) + 1;
    return this.has(next) ? next : undefined;
  }
}

export const frameText = (frame: EventFrame): string => `${JSON.stringify(frame)}\n`;
