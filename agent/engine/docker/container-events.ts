/** Container events: the subscription to the engine's stream, and a record of the out-of-memory events. */
import { EventEmitter, once } from 'node:events';
import type Docker from 'dockerode';
import { engineError, wrapErrors } from '../docker-error.ts';
import type { Container, Watch } from '../engine.ts';
import { jsonLines } from '../json-lines.ts';

/** Maximum delay of the event after the container's end. Measured: up to half a second on a busy machine. */
const MAX_DELAY_MS = 1000;
/** Exit code after SIGKILL, of the process or of the init process's only child. */
const KILLED = 137;

/** Subscribes to events of the containers with `labels`. Out-of-memory events go to `oomEvents` only. */
export async function watchContainers(
  docker: Docker,
  labels: string[],
  oomEvents: OomEvents,
  changed: (id: string) => void,
): Promise<Watch> {
  const abort = new AbortController();
  const stream = await wrapErrors(
    docker.getEvents({
      filters: { type: ['container'], event: ['die', 'oom', 'destroy'], label: labels },
      abortSignal: abort.signal,
    }),
  );
  const read = async () => {
    for await (const { Action, Actor } of jsonLines<{ Action: string; Actor: { ID: string } }>(stream)) {
      if (Action === 'oom') oomEvents.add(Actor.ID);
      else changed(Actor.ID);
      if (Action === 'destroy') oomEvents.forget(Actor.ID);
    }
  };
  const ended = read().catch((error: unknown) => {
    if (!abort.signal.aborted) throw engineError(error);
  });
  // `close` need not wait for `ended`, so its rejection must not be unhandled.
  ended.catch(() => {});
  const close = () => {
    abort.abort();
    if ('destroy' in stream && typeof stream.destroy === 'function') stream.destroy();
  };
  return { ended, close };
}

/**
 * An out-of-memory event races with the end of its container, and the flag in an inspection is set only if
 * the event came first (CONT-18).
 */
export class OomEvents {
  readonly #ids = new Set<string>();
  readonly #arrivals = new EventEmitter();

  add(id: string): void {
    this.#ids.add(id);
    this.#arrivals.emit(id);
  }

  forget(id: string): void {
    this.#ids.delete(id);
  }

  /** Waits no longer than the event can take. If the event is lost, only the signal is known (CONT-18). */
  async ranOutOfMemory(container: Extract<Container, { state: 'exited' }>): Promise<boolean> {
    const { id, outOfMemory, exitCode, finishedAtMs } = container;
    if (outOfMemory || exitCode !== KILLED) return outOfMemory;
    return await this.arrived(id, Date.now() - finishedAtMs);
  }

  /**
   * Whether the event has arrived. Waits until it arrives or no longer can. `sinceMs` is the time since the
   * container's end.
   */
  async arrived(id: string, sinceMs: number): Promise<boolean> {
    const waitMs = Math.min(MAX_DELAY_MS - sinceMs, MAX_DELAY_MS);
    if (!this.#ids.has(id) && waitMs > 0) {
      await once(this.#arrivals, id, { signal: AbortSignal.timeout(waitMs) }).catch(() => {});
    }
    return this.#ids.has(id);
  }
}
