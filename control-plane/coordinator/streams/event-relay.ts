/**
 * Owns one subscriber of events: what it may see, and how far it has read. It reads from the ring at its own pace, so that a
 * subscriber that stops costs nothing but its place; one that the ring has left behind is told to read everything again.
 */
import { type EventRing, frameText } from '../../core/streams/event-ring.ts';
import { type EventFrame, type EventSubscriber, isFor } from '../../core/streams/events.ts';
import type { Subscription } from './subscriptions.ts';

/** Made at once, and kept for a subscriber that does not read. */
const CHUNK_BYTES = 16 * 1024;

export class EventRelay implements Subscription {
  readonly stream: ReadableStream<Uint8Array>;
  readonly subscriber: EventSubscriber;
  /** When it began. */
  readonly openedMs: number;
  readonly #ring: EventRing;
  readonly #done: () => void;
  #controller: ReadableByteStreamController | undefined;
  /** Sequence of the event to look at next. */
  #next: number;
  /** To be told first. */
  #firstFrame: 'hello' | 'reset' | undefined;

  /** `done` is called once, when the stream has ended or was cancelled. */
  constructor(subscriber: EventSubscriber, ring: EventRing, openedMs: number, done: () => void) {
    this.subscriber = subscriber;
    this.openedMs = openedMs;
    this.#ring = ring;
    this.#done = done;
    const { lastEventId } = subscriber;
    const missed = lastEventId === null ? undefined : ring.behind(lastEventId);
    if (missed === undefined) this.#firstFrame = lastEventId === null ? 'hello' : 'reset';
    this.#next = missed ?? ring.next;
    // A byte stream, since workerd passes no other between a Durable Object and a Worker.
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

  /** There may be more to tell. */
  update(): void {
    while (this.#hasBufferSpace()) {
      const text = this.#nextText();
      if (text === '') return;
      this.#send(text);
    }
  }

  /** Tells that the stream is alive, and where to go on: its subscriber may see none of what has happened. */
  heartbeat(): void {
    this.update();
    if (this.#hasBufferSpace()) this.#send(this.#frame(this.#next - 1, { kind: 'beat' }));
  }

  /** Its subscriber may come back, and goes on where it was. */
  end(): void {
    const controller = this.#controller;
    this.#finish();
    controller?.close();
    // A byte stream with a subscriber waiting closes only after that subscriber was answered.
    controller?.byobRequest?.respond(0);
  }

  /** As JSON, a chunk of what is there. */
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
