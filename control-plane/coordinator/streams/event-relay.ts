/**
 * One subscriber of events: its filter and its position. The relay reads the ring at the subscriber's pace,
 * so a stalled subscriber costs only its position. A subscriber that the ring has overtaken receives `reset`.
 */
import { type EventRing, frameText } from '../../core/streams/event-ring.ts';
import { type EventFrame, type EventSubscriber, isFor } from '../../core/streams/events.ts';
import type { Subscription } from './subscriptions.ts';

/** Size of one chunk, and the buffer for a subscriber that does not read. */
const CHUNK_BYTES = 16 * 1024;

export class EventRelay implements Subscription {
  readonly stream: ReadableStream<Uint8Array>;
  readonly subscriber: EventSubscriber;
  /** On the monotonic clock. */
  readonly openedMs: number;
  readonly #ring: EventRing;
  readonly #done: () => void;
  #controller: ReadableByteStreamController | undefined;
  /** Sequence number of the next event to check. */
  #next: number;
  /** Frame to send before any event. */
  #firstFrame: 'hello' | 'reset' | undefined;

  /** `done` is called once, when the stream has ended or was cancelled. */
  constructor(subscriber: EventSubscriber, ring: EventRing, openedMs: number, done: () => void) {
    this.subscriber = subscriber;
    this.openedMs = openedMs;
    this.#ring = ring;
    this.#done = done;
    const { lastEventId } = subscriber;
    const missed = lastEventId === null ? undefined : ring.after(lastEventId);
    if (missed === undefined) this.#firstFrame = lastEventId === null ? 'hello' : 'reset';
    this.#next = missed ?? ring.next;
    // workerd passes only byte streams from a Durable Object to a Worker.
    this.stream = new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.update(),
        cancel: () => this.#finish(),
      },
      { highWaterMark: CHUNK_BYTES },
    );
  }

  /** Sends new events while there is buffer space. */
  update(): void {
    while (this.#hasBufferSpace()) {
      const text = this.#nextText();
      if (text === '') return;
      this.#send(text);
    }
  }

  /**
   * Shows that the stream is alive, and sends the current position, since the events so far may all be
   * invisible to the subscriber.
   */
  heartbeat(): void {
    this.update();
    if (this.#hasBufferSpace()) this.#send(this.#frame(this.#next - 1, { kind: 'beat' }));
  }

  /** Ends the stream cleanly. The subscriber may reconnect and continue at its position. */
  end(): void {
    const controller = this.#controller;
    this.#finish();
    controller?.close();
    // A byte stream with a pending read closes only after that read is answered.
    controller?.byobRequest?.respond(0);
  }

  /** The next chunk of frames, as lines of JSON; empty if there is nothing to send. */
  #nextText(): string {
    if (!this.#ring.has(this.#next)) {
      this.#firstFrame = 'reset';
      this.#next = this.#ring.next;
    }
    let text = this.#firstFrame ? this.#frame(this.#next - 1, { kind: this.#firstFrame }) : '';
    this.#firstFrame = undefined;
    for (let event = this.#ring.at(this.#next); event; event = this.#ring.at(this.#next)) {
      if (isFor(this.subscriber, event)) text += this.#ring.textAt(this.#next);
      this.#next += 1;
      if (text.length >= CHUNK_BYTES) break;
    }
    return text;
  }

  #frame(sequence: number, event: EventFrame['event']): string {
    return frameText({ id: this.#ring.idOf(sequence), event });
  }

  #hasBufferSpace(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  #send(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#done();
  }
}
