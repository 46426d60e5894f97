/** Owns who watches, and for how long: streams end when what let their subscriptions in may no longer hold. */
import type { Changes } from '../../core/state/changes.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { EventRing } from '../../core/streams/event-ring.ts';
import { type EventSubscriber, eventsOf } from '../../core/streams/events.ts';
import type { Clock } from '../ports.ts';
import type { Turns } from '../turns.ts';
import { EventRelay } from './event-relay.ts';
import { Subscriptions } from './subscriptions.ts';

const HEARTBEAT_INTERVAL_MS = 15_000;
/** Then its subscriber comes back and shows again who it is. */
const MAX_STREAM_MS = 10 * 60_000;
/** Readers are told no more often: what a busy cluster writes in that time is one chunk for each, and one write. */
const UPDATE_INTERVAL_MS = 100;

export class Events {
  readonly #turns: Turns;
  readonly #clock: Clock;
  readonly #relays = new Subscriptions<EventRelay>({
    what: 'streams of events',
    perUser: 50,
    inTotal: 1_000,
  });
  /** Made with the state, and lost with it: what comes after a lost state does not follow from what was told before. */
  #ring: EventRing | undefined;
  #isHeartbeatScheduled = false;
  #updatedMs = 0;
  #isUpdateScheduled = false;

  constructor(turns: Turns, clock: Clock) {
    this.#turns = turns;
    this.#clock = clock;
  }

  /** Lines of EventFrame. Throws OperationError where the account has changed meanwhile, and where too many read. */
  open(subscriber: EventSubscriber, cluster: Cluster): ReadableStream<Uint8Array> {
    this.#relays.assertAllowed(subscriber, cluster);
    const nowMs = this.#clock.nowMs();
    const relay = new EventRelay(subscriber, this.#ringOfState(), nowMs, () => this.#relays.delete(relay));
    this.#relays.add(relay);
    this.#scheduleHeartbeat();
    return relay.stream;
  }

  /** Of the latest event; null without a state. Needs no turn of its own: what is being committed comes behind it. */
  get lastId(): string | null {
    if (!this.#turns.cluster) return null;
    const ring = this.#ringOfState();
    return ring.idOf(ring.next - 1);
  }

  /** What a turn has changed is committed. */
  changed(changes: Changes, cluster: Cluster): void {
    const ring = this.#ringOfState();
    const events = eventsOf(cluster, changes);
    for (const event of events) ring.add(event);
    for (const relay of this.#relays.withStaleCredentials(cluster)) relay.end();
    if (events.length > 0) this.#scheduleUpdate();
  }

  /** Ends the streams of a user, or of all: whoever may still read comes back. */
  end(userId: number | null): void {
    for (const relay of this.#relays.of(userId)) relay.end();
  }

  /** The state was thrown away. */
  lost(): void {
    this.end(null);
    this.#ring = undefined;
  }

  #ringOfState(): EventRing {
    this.#ring ??= new EventRing(this.#turns.epoch);
    return this.#ring;
  }

  #scheduleUpdate(): void {
    if (this.#isUpdateScheduled || this.#relays.size === 0) return;
    const update = () => {
      this.#isUpdateScheduled = false;
      this.#updatedMs = this.#clock.nowMs();
      for (const relay of this.#relays.of(null)) relay.update();
    };
    const sinceMs = this.#clock.nowMs() - this.#updatedMs;
    // Also where the clock was set back.
    const isQuiet = sinceMs >= UPDATE_INTERVAL_MS || sinceMs < 0;
    if (isQuiet) update();
    else {
      this.#isUpdateScheduled = true;
      this.#clock.after(UPDATE_INTERVAL_MS - sinceMs, update);
    }
  }

  #scheduleHeartbeat(): void {
    if (this.#isHeartbeatScheduled || this.#relays.size === 0) return;
    this.#isHeartbeatScheduled = true;
    this.#clock.after(HEARTBEAT_INTERVAL_MS, () => {
      this.#isHeartbeatScheduled = false;
      const oldestMs = this.#clock.nowMs() - MAX_STREAM_MS;
      for (const relay of this.#relays.of(null)) {
        if (relay.openedMs <= oldestMs) relay.end();
        else relay.heartbeat();
      }
      this.#scheduleHeartbeat();
    });
  }
}
