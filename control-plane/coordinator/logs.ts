/** Owns who reads which log, and where the output of each service is: on its host, as long as that is one. */
import type { LogFormat } from '../../shared/protocol/down.ts';
import { OperationError } from '../core/errors.ts';
import { isOver } from '../core/execution.ts';
import type { LogPosition } from '../core/log-frames.ts';
import type { Db } from '../store/db.ts';
import { findLogPlace } from '../store/executions.ts';
import type { Agents } from './agents.ts';
import { LogRelay, type LogSource } from './log-relay.ts';
import { reading, type Turns } from './turns.ts';

/** Where a service was started last, and how often it was. */
interface Place {
  hostId: number | null;
  generation: number;
}

const placeOf = (service: Place | undefined): Place | undefined =>
  service && { hostId: service.hostId, generation: service.generation };

export class Logs {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #agents: Agents;
  /** By service id. */
  readonly #relays = new Map<number, Set<LogRelay>>();

  constructor(db: Db, turns: Turns, agents: Agents) {
    this.#db = db;
    this.#turns = turns;
    this.#agents = agents;
  }

  async open(serviceId: number, format: LogFormat, from?: LogPosition): Promise<ReadableStream<Uint8Array>> {
    // A turn makes sure that the state is there; what it ends itself is not live any more.
    const live = await this.#turns.look(({ services }) => placeOf(services.get(serviceId)));
    const place = live ? null : await reading(findLogPlace(this.#db, serviceId));
    // To one that has fallen behind it would look like an end.
    if (place && !place.hasEnded) {
      const message =
        'This control plane does not know the execution yet, or another one has taken over; try again.';
      throw new OperationError('unavailable', message);
    }
    if (place && place.generation > 0 && !this.#isRemoved(place) && !this.#agents.session(place.hostId)) {
      const message = `The log is on host ${place.hostName}, which is not connected; try again when its agent is back.`;
      throw new OperationError('unavailable', message);
    }
    const source = this.#sourceOf(serviceId, live ?? place ?? { hostId: null, generation: 0 });
    const relay = new LogRelay(serviceId, format, source, () => this.#drop(serviceId, relay), from);
    const relays = this.#relays.get(serviceId) ?? new Set();
    this.#relays.set(serviceId, relays.add(relay));
    relay.update();
    return relay.stream;
  }

  /** Something has changed: readers go on, or end. */
  update(): void {
    for (const relays of this.#relays.values()) for (const relay of relays) relay.update();
  }

  /** Tells where the output of a service is, now and after its end; `last` is where it was known to be last. */
  #sourceOf(serviceId: number, last: Place): () => LogSource {
    let { hostId, generation } = last;
    return () => {
      // What is not committed is told nobody; after the commit all readers are asked again.
      if (this.#turns.isAhead) return { generation, session: undefined, removed: false, final: false };
      const cluster = this.#turns.cluster;
      const service = cluster?.services.get(serviceId);
      // Between a lost state and its reload nothing is known, so nothing is final.
      let final = cluster !== undefined;
      if (service) {
        ({ hostId, generation } = service);
        const execution = cluster?.executions.get(service.executionId);
        final = execution !== undefined && isOver(execution, service);
      }
      const removed = this.#isRemoved({ hostId, generation });
      return { generation, session: this.#agents.session(hostId), removed, final };
    };
  }

  /** Whether its logs went with its host. */
  #isRemoved({ hostId }: Place): boolean {
    return hostId !== null && this.#turns.cluster?.hosts.has(hostId) === false;
  }

  #drop(serviceId: number, relay: LogRelay): void {
    const relays = this.#relays.get(serviceId);
    relays?.delete(relay);
    if (relays?.size === 0) this.#relays.delete(serviceId);
  }
}
