/** What every client of a channel has in a simulation, as the checks see it. */
import type { StreamSessionDeps } from '../../../../control-plane/coordinator/streams/stream-session.ts';
import type { StreamRequest } from '../../../../control-plane/core/streams/stream-request.ts';
import type { StreamTarget } from '../../../../shared/streams/targets.ts';
import type { KnownStream, StreamCheck } from '../checks/streams.ts';
import type { Chances } from '../machine/stream-target.ts';
import type { Process, World } from '../world/time.ts';

export interface ClientOptions {
  world: World;
  check: StreamCheck;
  chances: Chances;
  /** The process of its session, at a control plane or gateway. */
  process: Process;
  kind: StreamTarget['kind'];
  /** The number of the stream. */
  port: number;
  request: StreamRequest;
  deps: StreamSessionDeps;
}

const LOOK_MS = 1_000;

export abstract class Client implements KnownStream {
  readonly kind: StreamTarget['kind'];
  readonly port: number;
  readonly service: number;
  readonly userId: number;
  readonly process: Process;
  readonly beganMs: number;
  endedMs: number | null = null;
  answeredMs: number | null = null;
  isHeld = false;
  /** It reads what has arrived for a while after its connection has ended. */
  protected readsSlowly = false;
  #isOverAtServer = false;
  protected readonly options: ClientOptions;

  constructor(options: ClientOptions) {
    const { world, process, kind, port, request } = options;
    this.options = options;
    this.kind = kind;
    this.port = port;
    this.service = request.serviceId;
    this.userId = request.subscriber.userId;
    this.process = process;
    this.beganMs = world.nowMs;
  }

  protected abstract leaves(): void;

  protected begin(): void {
    const { world, chances } = this.options;
    if (chances.chance(0.3)) world.after(chances.between(1, 40_000), () => this.leaves());
    this.#watch();
  }

  protected place(obtain: StreamSessionDeps['place']): StreamSessionDeps['place'] {
    const { world, check } = this.options;
    return async (...args) => {
      try {
        const permit = await obtain(...args);
        this.isHeld = !this.#isOverAtServer;
        check.permitted(this);
        return permit;
      } finally {
        this.answeredMs = world.nowMs;
      }
    };
  }

  protected over(): void {
    this.#isOverAtServer = true;
    this.isHeld = false;
  }

  /** The end of its control plane ends its connection. */
  #watch(): void {
    if (this.endedMs !== null) return;
    const { world, check } = this.options;
    if (!this.process.alive) check.gone(this, 'lost with its control plane');
    else {
      if (!this.readsSlowly) check.look(this);
      world.after(LOOK_MS, () => this.#watch());
    }
  }
}
