/** Owns the latest events of one coordinator's hold on the state, and their ids: `<epoch>-<sequence>`. Pure. */
import type { ClusterEvent, EventFrame } from './events.ts';

/** Some seconds of a busy cluster, hours of a quiet one; some megabytes at most, as all texts in them have a bound. */
const KEPT = 5_000;

export class EventRing {
  readonly #epoch: number;
  readonly #size: number;
  readonly #events: ClusterEvent[] = [];
  /** Of those that somebody has read: the same for all. */
  readonly #texts: (string | undefined)[] = [];
  /** Sequence of the latest event; 0 before the first. */
  #last = 0;

  constructor(epoch: number, size = KEPT) {
    this.#epoch = epoch;
    this.#size = size;
  }

  /** Where whoever has seen everything goes on. */
  get next(): number {
    return this.#last + 1;
  }

  add(event: ClusterEvent): void {
    this.#last += 1;
    this.#events[this.#last % this.#size] = event;
    this.#texts[this.#last % this.#size] = undefined;
  }

  /** Whether all from `sequence` on is still there. */
  has(sequence: number): boolean {
    return sequence >= 1 && sequence > this.#last - this.#size && sequence <= this.next;
  }

  /** One that is there, or undefined at `next`. */
  at(sequence: number): ClusterEvent | undefined {
    return sequence <= this.#last ? this.#events[sequence % this.#size] : undefined;
  }

  /** The frame of one that is there. */
  textAt(sequence: number): string {
    const at = sequence % this.#size;
    const event = this.#events[at];
    if (!event) throw new Error(`no event ${sequence}`);
    const text = this.#texts[at] ?? frameText({ id: this.idOf(sequence), event });
    this.#texts[at] = text;
    return text;
  }

  idOf(sequence: number): string {
    return `${this.#epoch}-${sequence}`;
  }

  /** The sequence behind the event of that id; undefined where that is not known, or too long ago. */
  behind(id: string): number | undefined {
    const [, epoch, sequence] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
    if (Number(epoch) !== this.#epoch) return undefined;
    const next = Number(sequence) + 1;
    return this.has(next) ? next : undefined;
  }
}

export const frameText = (frame: EventFrame): string => `${JSON.stringify(frame)}\n`;
