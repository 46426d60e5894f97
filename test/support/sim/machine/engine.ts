/**
 * Simulated container engine of one machine, behind the agent's port. Its calls take time, and it can fail in
 * many ways. Agents use only the methods of `Engine`; faults use the other members.
 */
import { claimOf } from '../../../../agent/engine/cpu-allocation.ts';
import {
  type Container,
  type ContainerSummary,
  type Engine,
  EngineError,
  type EngineFacts,
  type OutputRecord,
  type UsageSample,
  type Watch,
} from '../../../../agent/engine/engine.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { Disk } from '../world/disk.ts';
import { currentProcess, ifAlive, type Process, type World } from '../world/time.ts';
import { type ContainerScript, healthOf, type SimContainer } from './container.ts';
import { attempt, ContainerRuntime, unkillable } from './runtime.ts';

/** Where the agent finds the engine's own log files. */
export type OutputLocation = 'linked' | 'elsewhere' | 'unreachable';

/** Receives what happens to containers. */
export interface EngineEvents {
  starts(engine: SimEngine, container: SimContainer): void;
  /** An agent calls the engine for a container that does not belong to Berth. */
  foreignCall(engine: SimEngine, id: string, call: string): void;
}

export interface SimEngineOptions {
  world: World;
  machine: string;
  facts: EngineFacts;
  output: OutputLocation;
  events: EngineEvents;
  scriptFor(assignment: Assignment): ContainerScript;
}

/** A start that fails after a while. It has taken effect if its error is temporary. */
export interface LateFailure {
  afterMs: number;
  kind: 'temporary' | 'permanent';
}

/** Time after which the agent's client gives up a call. */
const CALL_TIMEOUT_MS = 120_000;
const STOP_GRACE_MS = 10_000;
const PULL_STALL_MS = 60_000;
export const LOCAL_IMAGE = 'berth/busybox:1';
/** An image that must be pulled from a registry. */
export const REMOTE_IMAGE = 'registry.test/far:1';
/** The message of a call without an answer. */
export const UNREACHABLE = 'the engine does not answer';

export class SimEngine implements Engine {
  readonly machine: string;
  readonly disk: Disk;
  readonly runtime: ContainerRuntime;
  readonly #options: SimEngineOptions;
  readonly #world: World;
  readonly #images = new Set([LOCAL_IMAGE]);

  // Faults
  /** The engine refuses connections. */
  down = false;
  /** The engine accepts calls and never answers. */
  hanging = false;
  /** Upper bound of an extra delay per call. */
  slowMs = 0;
  /** Share of the calls that fail with an error of the engine, from 0 to 1. */
  failing = 0;
  pulls: 'normal' | 'stall' | 'fail' = 'normal';
  /** Called when the next start begins. Returns how that start fails. */
  onNextStart: (() => LateFailure) | undefined;

  constructor(options: SimEngineOptions) {
    this.#options = options;
    this.#world = options.world;
    this.machine = options.machine;
    this.disk = new Disk(options.output === 'linked' ? `/${options.machine}` : `/${options.machine}-engine`);
    this.runtime = new ContainerRuntime({
      ...{ world: options.world, machine: options.machine, disk: this.disk },
      onStart: (container) => options.events.starts(this, container),
    });
  }

  get containers(): ReadonlyMap<string, SimContainer> {
    return this.runtime.containers;
  }

  /** True if calls succeed without extra delay. */
  get isHealthy(): boolean {
    return !this.down && !this.hanging && this.slowMs === 0 && this.failing === 0;
  }

  facts(): Promise<EngineFacts> {
    return this.#call('facts', () => this.#options.facts);
  }

  list(): Promise<ContainerSummary[]> {
    return this.#call('list', () =>
      [...this.containers.values()].flatMap((container) => {
        const { id, key, state } = container;
        const health = state === 'running' ? healthOf(container, this.#world.nowMs)?.state : undefined;
        return key
          ? [{ service: key.service, generation: key.generation, id, state, ...(health && { health }) }]
          : [];
      }),
    );
  }

  inspect(id: string): Promise<Container | undefined> {
    return this.#call('inspect', () => {
      const container = this.containers.get(id);
      return container && this.#view(container);
    });
  }

  create(assignment: Assignment, limit: number): Promise<Container> {
    return this.#call('create', () => {
      const { execution, service, generation, idProof, name, image } = assignment;
      if (!this.#images.has(image)) throw new EngineError('image-missing', `No such image: ${image}`);
      const holder = [...this.containers.values()].find((one) => one.name === name);
      if (holder?.key?.service === service && holder.key.generation === generation) return this.#view(holder);
      if (holder) throw new EngineError('temporary', `the name ${name} is in use`);
      const key = { execution, service, generation, idProof };
      const script = this.#options.scriptFor(assignment);
      return this.#view(this.runtime.add(name, key, script, { ...claimOf(assignment), limit }));
    });
  }

  async start(_: Assignment, id: string): Promise<Container> {
    const { onNextStart } = this;
    this.onNextStart = undefined;
    if (onNextStart) await this.#failLate(id, onNextStart());
    return this.#call('start', () => {
      const container = this.#ownContainer(id, 'start');
      if (!container) throw new EngineError('permanent', `No such container: ${id}`);
      this.runtime.start(container);
      return this.#view(container);
    });
  }

  updateCpuLimit(id: string, limit: number): Promise<void> {
    return this.#call('limit', () => {
      const container = this.#ownContainer(id, 'limit');
      if (container) container.cpu.limit = limit;
    });
  }

  /**
   * Uses neither random numbers nor faults, so a call changes no run. Each container uses a tenth of a core.
   */
  async usage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, UsageSample>> {
    if (this.hanging) await new Promise((done) => signal.addEventListener('abort', done));
    if (this.down || this.hanging) throw new EngineError('unreachable', UNREACHABLE);
    const timeMs = this.#world.nowMs;
    const used = new Map<string, UsageSample>();
    for (const { id, state, startedAtMs } of ids.flatMap((one) => this.containers.get(one) ?? []))
      if (state === 'running')
        used.set(id, { timeMs, cpuMs: (timeMs - startedAtMs) / 10, memoryBytes: 2 ** 20 });
    return used;
  }

  diskUse(): Promise<undefined> {
    return this.#call('disk use', () => undefined);
  }

  kill(id: string): Promise<void> {
    return this.#call('kill', () => {
      const container = this.#ownContainer(id, 'kill');
      if (container?.state === 'running') this.runtime.kill(container, 137);
    });
  }

  async stop(id: string): Promise<void> {
    const world = this.#world;
    const obeysSigterm = world.chance(0.7);
    const afterMs = obeysSigterm ? world.between(10, 500) : STOP_GRACE_MS;
    const isRunning = await this.#call('stop', () => {
      const container = this.#ownContainer(id, 'stop');
      if (container?.state !== 'running') return false;
      // The engine stops the container even if the caller is gone.
      world.after(afterMs, () => attempt(() => this.runtime.kill(container, obeysSigterm ? 143 : 137)));
      return true;
    });
    if (!isRunning) return;
    await world.pause(afterMs);
    await this.#call('stop, done', () => {
      if (this.containers.get(id)?.state === 'running') throw unkillable();
    });
  }

  remove(id: string): Promise<void> {
    return this.#call('remove', () => {
      const container = this.#ownContainer(id, 'remove');
      if (container) this.runtime.discard(container);
    });
  }

  async pull(image: string, progress: (detail: string) => void, signal: AbortSignal): Promise<void> {
    await this.#call('pull', () => {});
    if (image !== REMOTE_IMAGE) throw new EngineError('permanent', `manifest for ${image} not found`);
    if (this.pulls === 'fail') throw new EngineError('temporary', 'toomanyrequests: try again later');
    this.#world.count(`pull: ${this.pulls}`);
    for (let step = 1; step <= 3 || this.pulls === 'stall'; step++) {
      progress(`pulling ${image}: ${step} of 3`);
      await this.#world.pause(this.pulls === 'stall' ? PULL_STALL_MS : 1000);
      if (signal.aborted) throw new EngineError('temporary', 'no longer wanted');
      if (this.pulls === 'stall') throw new EngineError('temporary', 'the pull made no progress for 60 s');
    }
    await this.#call('pull, done', () => this.#images.add(image));
  }

  async watch(changed: (id: string) => void): Promise<Watch> {
    return this.#call('watch', () => {
      const over = Promise.withResolvers<void>();
      const watcher = { process: currentProcess(), changed, end: over.resolve };
      this.runtime.watchers.add(watcher);
      return { ended: over.promise, close: () => this.runtime.watchers.delete(watcher) && over.resolve() };
    });
  }

  outputFile(id: string): string | undefined {
    return this.#options.output === 'unreachable' ? undefined : this.runtime.fileOf(id);
  }

  async *followOutput(id: string, sinceNs: bigint, signal: AbortSignal): AsyncGenerator<OutputRecord> {
    const container = await this.#call('logs', () => this.containers.get(id));
    if (!container) throw new EngineError('permanent', `No such container: ${id}`);
    let at = container.records.findIndex(({ timeNs }) => timeNs >= sinceNs);
    if (at < 0) at = container.records.length;
    while (true) {
      for (; at < container.records.length; at++) yield container.records[at] as OutputRecord;
      if (container.state === 'exited' || !this.containers.has(id)) return;
      await this.runtime.moreOutput(signal);
      if (this.down || signal.aborted) throw new EngineError('unreachable', 'the stream has ended');
    }
  }

  /** Images go by a fault (`forgetImages`). */
  async removeUnusedImage(): Promise<undefined> {}

  removeUnused(): Promise<void> {
    return this.#call('networks', () => {});
  }

  networkProblem(): Promise<string | undefined> {
    return this.#call('network', () => undefined);
  }

  watchFolders(): void {}

  async swarm(): Promise<null> {
    return null;
  }

  async makeOverlay(): Promise<void> {}

  // Called by faults

  /** Images must be pulled again. */
  forgetImages(): void {
    this.#images.delete(REMOTE_IMAGE);
  }

  /** Ends the engine's process, and with it the containers unless `containersGoOn`. */
  stopServing(containersGoOn: boolean): void {
    this.down = true;
    this.runtime.stop(containersGoOn);
  }

  #view(container: SimContainer): Container {
    const seen = view(container);
    const health = seen.state === 'running' ? healthOf(container, this.#world.nowMs) : undefined;
    return seen.state === 'running' && health ? { ...seen, health } : seen;
  }

  #ownContainer(id: string, call: string): SimContainer | undefined {
    const container = this.containers.get(id);
    if (container && !container.key) this.#options.events.foreignCall(this, id, call);
    return container;
  }

  async #failLate(id: string, { afterMs, kind }: LateFailure): Promise<never> {
    await ifAlive(currentProcess(), this.#world.pause(afterMs));
    const container = this.#ownContainer(id, 'start');
    if (kind === 'temporary' && container && !this.down) attempt(() => this.runtime.start(container));
    throw new EngineError(kind, 'Server Error');
  }

  /**
   * One call of an agent. The agent may be killed before or after it. A call that fails may still take
   * effect.
   */
  #call<T>(label: string, effect: () => T): Promise<T> {
    const caller = currentProcess();
    if (!this.#world.step(caller, label)) return new Promise(() => {});
    return ifAlive(caller, this.#answer(label, caller, effect));
  }

  async #answer<T>(label: string, caller: Process | undefined, effect: () => T): Promise<T> {
    const world = this.#world;
    await world.pause(1 + (this.slowMs > 0 ? world.between(0, this.slowMs) : world.random() * 4));
    // The caller may be dead by now; the engine may carry out the call all the same.
    if (caller?.alive === false && world.chance(0.4)) return new Promise(() => {});
    if (this.down) throw new EngineError('unreachable', UNREACHABLE);
    if (this.hanging) {
      if (world.chance(0.5)) attempt(effect);
      world.count('engine: hung');
      await world.pause(CALL_TIMEOUT_MS);
      throw new EngineError('unreachable', UNREACHABLE);
    }
    if (world.chance(this.failing)) {
      if (world.chance(0.3)) attempt(effect);
      world.count('engine: answered 500');
      throw new EngineError('temporary', 'Server Error');
    }
    const result = effect();
    world.step(caller, `${label}, done`);
    return result;
  }
}

function view({ id, key, state, cpu, script, ...rest }: SimContainer): Container {
  const common = { ...(key as NonNullable<SimContainer['key']>), id, cpu: { ...cpu } };
  if (state === 'created') return { ...common, state };
  if (state === 'running')
    return { ...common, state, ipAddress: '10.0.0.1', ports: [], startedAtMs: rest.startedAtMs };
  const { exitCode, outOfMemory, finishedAtMs } = rest;
  const startError = exitCode === script.exitCode ? script.startError : undefined;
  return { ...common, state, exitCode, outOfMemory, finishedAtMs, ...(startError ? { startError } : {}) };
}
