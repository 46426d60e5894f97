/**
 * Streams of events: delivery after each turn, heartbeats, and their end when a subscriber's admission may no
 * longer hold.
 */
import type { Changes } from '../../core/state/changes.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { EventRing } from '../../core/streams/event-ring.ts';
import { type EventSubscriber, eventsOf } from '../../core/streams/events.ts';
import type { Clock } from '../ports.ts';
import type { Turns } from '../turns.ts';
import { EventRelay } from './event-relay.ts';
import { Subscriptions } from './subscriptions.ts';

const HEARTBEAT_INTERVAL_MS = 15_000;
/** Longest duration of a stream. The client then reconnects and authenticates again (STREAM-3). */
const MAX_STREAM_MS = 10 * 60_000;
/**
 * Minimum time between updates. Everything that a busy cluster produces in that time is one write per
 * subscriber.
 */
const UPDATE_INTERVAL_MS = 100;

export class Events {
  readonly #turns: Turns;
  readonly #clock: Clock;
  readonly #relays = new Subscriptions<EventRelay>({
    what: 'streams of events',
    perUser: 50,
    inTotal: 1_000,
  });
  /**
   * Created with the state and discarded with it: events after a lost state do not continue those before it.
   */
  #ring: EventRing | undefined;
  #isHeartbeatScheduled = false;
  #updatedMs = Number.NEGATIVE_INFINITY;
  #isUpdateScheduled = false;

  constructor(turns: Turns, clock: Clock) {
    this.#turns = turns;
    this.#clock = clock;
  }

  /** Number of open streams. */
  get size(): number {
    return this.#relays.size;
  }

  get maxSize(): number {
    return this.#relays.maxSize;
  }

  /**
   * Lines of EventFrame. Throws OperationError if the user has changed, or if a limit of streams is reached.
   */
  open(subscriber: EventSubscriber, cluster: Cluster): ReadableStream<Uint8Array> {
    this.#relays.assertAllowed(subscriber, cluster);
    const openedMs = this.#clock.monotonicMs();
    const relay = new EventRelay(subscriber, this.#ringOfState(), openedMs, () => this.#relays.delete(relay));
    this.#relays.add(relay);
    this.#scheduleHeartbeat();
    return relay.stream;
  }

  /** Id of the latest event; null without a state. Needs no turn: changes under commit come after it. */
  get lastId(): string | null {
    if (!this.#turns.cluster) return null;
    const ring = this.#ringOfState();
    return ring.idOf(ring.next - 1);
  }

  /** The changes of a turn are committed. */
  changed(changes: Changes, cluster: Cluster): void {
    const ring = this.#ringOfState();
    const events = eventsOf(cluster, changes);
    for (const event of events) ring.add(event);
    for (const relay of this.#relays.withStaleCredentials(cluster)) relay.end();
    if (events.length > 0) this.#scheduleUpdate();
  }

  /** Ends the streams of a user (null: of all users). Subscribers with access reconnect. */
  end(userId: number | null): void {
    for (const relay of this.#relays.of(userId)) relay.end();
  }

  /** The state was discarded. */
  lost(): void {
    this.end(null);
    this.#ring = undefined;
  }

  #ringOfState(): EventRing {
    this.#ring ??= new EventRing(this.#turns.loaded.epoch);
    return this.#ring;
  }

  #scheduleUpdate(): void {
    if (this.#isUpdateScheduled || this.#relays.size === 0) return;
    const update = () => {
      this.#isUpdateScheduled = false;
      this.#updatedMs = this.#clock.monotonicMs();
      for (const relay of this.#relays.of(null)) relay.update();
    };
    const sinceMs = this.#clock.monotonicMs() - this.#updatedMs;
    // Negative where the platform's clock was set back.
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
      const oldestMs = this.#clock.monotonicMs() - MAX_STREAM_MS;
      for (const relay of this.#relays.of(null)) {
        if (relay.openedMs <= oldestMs) relay.end();
        else relay.heartbeat();
      }
      this.#scheduleHeartbeat();
    });
  }
}
