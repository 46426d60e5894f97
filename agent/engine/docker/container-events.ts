/** Container events: the subscription to the engine's stream, and what they show of a lack of memory. */
import { EventEmitter, once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import { engineError, wrapErrors } from '../docker-error.ts';
import type { Container, Watch } from '../engine.ts';
import { jsonLines } from '../json-lines.ts';

/** Maximum delay of the event after the container's end. Measured: up to half a second on a busy machine. */
const MAX_DELAY_MS = 1000;
const EVENTS = ['die', 'oom', 'kill', 'pause', 'unpause', 'destroy'];
/** A process that is killed for its memory has to free it before it ends. */
const MAX_EXIT_MS = 2000;
/** Exit code after SIGKILL, of the process or of the init process's only child. */
const KILLED = 137;

interface Event {
  Action: string;
  Actor: { ID: string; Attributes?: { signal?: string } };
  timeNano?: number;
}

type Exited = Extract<Container, { state: 'exited' }>;

/**
 * Subscribes to events of the containers with `labels`. Out-of-memory events and kills go to `oomEvents`
 * only.
 */
export async function watchContainers(
  docker: Docker,
  labels: string[],
  oomEvents: OomEvents,
  changed: (id: string) => void,
): Promise<Watch> {
  const abort = new AbortController();
  const stream = await wrapErrors(
    docker.getEvents({
      filters: { type: ['container'], event: EVENTS, label: labels },
      abortSignal: abort.signal,
    }),
  );
  const read = async () => {
    for await (const { Action, Actor, timeNano } of jsonLines<Event>(stream)) {
      if (Action === 'oom') oomEvents.add(Actor.ID, timeNano === undefined ? undefined : timeNano / 1e6);
      else if (Action === 'kill') oomEvents.signalled(Actor.ID, Actor.Attributes?.signal);
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
 * Decides whether a lack of memory has ended a container. An out-of-memory event races with the end of its
 * container, may be lost, and may be about a process that was not the container's last (CONT-18).
 */
export class OomEvents {
  /** Times of the last events. */
  readonly #times = new Map<string, number>();
  /** Containers that got SIGKILL through the engine. */
  readonly #killed = new Set<string>();
  /** The kernel's count of kills for lack of memory while the container still ran. */
  readonly #counts = new Map<string, number>();
  readonly #arrivals = new EventEmitter();

  add(id: string, timeMs = Date.now()): void {
    this.#times.set(id, timeMs);
    this.#arrivals.emit(id);
  }

  /** The engine has sent the container a signal. */
  signalled(id: string, signal: string | undefined): void {
    if (signal === '9' || signal === 'SIGKILL') this.#killed.add(id);
  }

  /** `kills`: the kernel's count of kills for lack of memory before the container was seen running. */
  ran(id: string, kills: number | undefined): void {
    if (kills !== undefined) this.#counts.set(id, kills);
    // It was started again.
    this.#killed.delete(id);
  }

  forget(id: string): void {
    for (const known of [this.#times, this.#killed, this.#counts]) known.delete(id);
  }

  /** Call it before containers are listed, and the result with the ids of all: the others have gone. */
  listing(): (listed: ReadonlySet<string>) => void {
    const known = [...this.#times.keys(), ...this.#killed, ...this.#counts.keys()];
    return (listed) => {
      for (const id of known) if (!listed.has(id)) this.forget(id);
    };
  }

  /**
   * Waits no longer than the event can take. `kills`: the kernel's count of kills for lack of memory after
   * the container's end. If it has not changed, none of them has ended the container.
   */
  async explain(container: Exited, kills: number | undefined): Promise<Exited> {
    const { id, outOfMemory, exitCode, finishedAtMs } = container;
    if (exitCode !== KILLED)
      return outOfMemory || this.#times.has(id)
        ? { ...container, outOfMemory: false, memoryKill: 'other-process' }
        : container;
    const isNone = kills !== undefined && kills === this.#counts.get(id);
    const isKilled = this.#killed.has(id);
    if (!outOfMemory && (isNone || isKilled) && !this.#times.has(id))
      return { ...container, memoryKill: 'none' };
    await this.arrived(id, Date.now() - finishedAtMs);
    const timeMs = this.#times.get(id);
    if (timeMs === undefined) return { ...container, outOfMemory: false };
    return isKilled || isNone || timeMs < finishedAtMs - MAX_EXIT_MS
      ? { ...container, outOfMemory: false, memoryKill: 'other-process' }
      : { ...container, outOfMemory: true };
  }

  /**
   * Whether the event has arrived. Waits until it arrives or no longer can. `sinceMs` is the time since the
   * container's end.
   */
  async arrived(id: string, sinceMs: number): Promise<boolean> {
    const waitMs = Math.min(MAX_DELAY_MS - sinceMs, MAX_DELAY_MS);
    if (!this.#times.has(id) && waitMs > 0) {
      await once(this.#arrivals, id, { signal: AbortSignal.timeout(waitMs) }).catch(() => {});
    }
    return this.#times.has(id);
  }
}

/**
 * How many processes the kernel of this machine has killed for lack of memory, those of all control groups
 * included. Undefined if the kernel does not count them.
 */
export async function memoryKills(): Promise<number | undefined> {
  const text = await readFile('/proc/vmstat', 'utf8').catch(() => '');
  const [, count] = /^oom_kill (\d+)$/m.exec(text) ?? [];
  return count === undefined ? undefined : Number(count);
}
