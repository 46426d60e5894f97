/**
 * Container runtime of one simulated machine: its containers run their scripts, write output and end. It
 * outlives agents.
 */
import type { ContainerCpu } from '../../../../agent/engine/engine.ts';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { encodeRecord } from '../../../../agent/logs/record.ts';
import type { Disk } from '../world/disk.ts';
import type { Process, World } from '../world/time.ts';
import { type ContainerScript, lineOf, type SimContainer } from './container.ts';

/** Receives the id of each container that changes. */
export interface Watcher {
  process: Process | undefined;
  changed(id: string): void;
  end(): void;
}

export interface ContainerRuntimeOptions {
  world: World;
  machine: string;
  disk: Disk;
  onStart(container: SimContainer): void;
}

const NO_CLAIM: ContainerCpu = { min: 0, max: null, limit: 1 };

export class ContainerRuntime {
  readonly containers = new Map<string, SimContainer>();
  readonly watchers = new Set<Watcher>();
  readonly #options: ContainerRuntimeOptions;
  readonly #world: World;
  readonly #outputWaiters = new Set<() => void>();
  #ids = 0;

  constructor(options: ContainerRuntimeOptions) {
    this.#options = options;
    this.#world = options.world;
  }

  add(
    name: string,
    key: SimContainer['key'],
    script: ContainerScript,
    cpu: ContainerCpu = NO_CLAIM,
  ): SimContainer {
    const id = `${this.#options.machine}-c${++this.#ids}`;
    const { disk } = this.#options;
    disk.makeFolder(`${disk.root}/engine`);
    const container: SimContainer = {
      ...{ id, name, key, script, cpu, state: 'created', exitCode: 0, outOfMemory: false },
      ...{ startedAtMs: 0, finishedAtMs: 0, output: disk.make(this.fileOf(id)), records: [] },
    };
    this.containers.set(id, container);
    return container;
  }

  start(container: SimContainer): void {
    if (container.state !== 'created') return;
    const { script } = container;
    container.state = 'running';
    container.startedAtMs = this.#world.nowMs;
    this.#world.count(`container: ${container.key ? 'started' : "another's"}`);
    this.#options.onStart(container);
    this.#write(container, 0);
    for (const afterMs of Object.values(script.health ?? {}))
      if (afterMs !== null) this.#world.after(afterMs, () => this.#notifyWatchers(container.id));
    if (script.afterMs !== null)
      this.#world.after(script.afterMs, () => {
        if (container.state === 'running') this.#end(container, script.exitCode, script.outOfMemory);
      });
  }

  /** Ends a running container from outside. */
  kill(container: SimContainer, exitCode: number): void {
    if (container.state !== 'running') return;
    if (container.script.immortalUntilMs > this.#world.nowMs) throw unkillable();
    this.#end(container, exitCode, false);
  }

  /** Kills and removes a container, as `docker rm -f` does. */
  discard(container: SimContainer): void {
    this.kill(container, 137);
    this.containers.delete(container.id);
    this.#options.disk.files.delete(this.fileOf(container.id));
    this.#notifyWatchers(container.id);
    this.#wakeOutputWaiters();
  }

  killByHand(id: string): void {
    const container = this.containers.get(id);
    if (container) attempt(() => this.kill(container, 137));
  }

  removeByHand(id: string): void {
    const container = this.containers.get(id);
    if (container) attempt(() => this.discard(container));
  }

  #write(container: SimContainer, at: number): void {
    const { script, key, output, records } = container;
    if (!key || container.state !== 'running' || at >= script.lines) return;
    const line = Buffer.from(lineOf(`${key.service}.${key.generation}`, at));
    const timeNs = BigInt(Math.floor(this.#world.nowMs * 1000)) * 1000n;
    const record = { source: 'stdout' as const, timeNs, line, partial: false };
    records.push(record);
    output.append(encodeRecord(record));
    this.#wakeOutputWaiters();
    this.#world.after(script.linesMs / script.lines, () => this.#write(container, at + 1));
  }

  #end(container: SimContainer, exitCode: number, outOfMemory: boolean): void {
    Object.assign(container, { state: 'exited', exitCode, outOfMemory, finishedAtMs: this.#world.nowMs });
    this.#world.note(`${container.id} ends with ${exitCode}`);
    this.#notifyWatchers(container.id);
    this.#wakeOutputWaiters();
  }

  #notifyWatchers(id: string): void {
    for (const { process, changed } of this.watchers)
      this.#world.after(this.#world.between(1, 20), () => changed(id), process);
  }

  /** Ends all watches and, unless `containersGoOn`, all running containers. */
  stop(containersGoOn: boolean): void {
    for (const watcher of [...this.watchers]) this.#world.after(1, () => watcher.end(), watcher.process);
    this.watchers.clear();
    if (!containersGoOn)
      for (const one of this.containers.values()) if (one.state === 'running') this.#end(one, 137, false);
    this.#wakeOutputWaiters();
  }

  /** Resolves at the next line of any container, at any end, or at an abort. */
  moreOutput(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#outputWaiters.delete(wake);
        resolve();
      };
      this.#outputWaiters.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  fileOf(id: string): string {
    return `${this.#options.disk.root}/engine/${id}.log`;
  }

  #wakeOutputWaiters(): void {
    for (const wake of [...this.#outputWaiters]) wake();
  }
}

export const unkillable = () =>
  new EngineError('temporary', 'tried to kill container, but did not receive an exit event');

/** Runs `effect` and discards its result or error. */
export function attempt(effect: () => unknown): void {
  try {
    effect();
  } catch {
    // No caller is left to receive the error.
  }
}
