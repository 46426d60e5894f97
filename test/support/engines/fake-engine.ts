/**
 * An engine in memory, for tests of the agent's own logic. It throws on everything that a test has not
 * prepared.
 */
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { claimOf } from '../../../agent/engine/cpu-allocation.ts';
import {
  type Container,
  type ContainerSummary,
  type DiskUse,
  type Engine,
  EngineError,
  type EngineFacts,
  type OutputRecord,
  type RemovedImage,
  type UnusedImageOptions,
  type UsageSample,
  type Watch,
} from '../../../agent/engine/engine.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';

export class FakeEngine implements Engine {
  readonly containers = new Map<string, Container>();
  /** Every call that changes something, e.g. `create 1.1`. */
  readonly calls: string[] = [];
  readonly images = new Set(['berth/busybox:1']);
  /** Called before each such call; may throw or wait. */
  before: (call: string) => void | Promise<void> = () => {};
  /** Calls that begin so wait until the promise of this is settled. */
  hold(calls: string): PromiseWithResolvers<void> {
    const held = Promise.withResolvers<void>();
    this.before = (call) => (call.startsWith(calls) ? held.promise : undefined);
    return held;
  }
  /** Calls that begin so fail. */
  refuse(calls: string, error: Error): void {
    this.before = (call) => {
      if (call.startsWith(calls)) throw error;
    };
  }
  /** Whether each start so far might have replaced its container. */
  readonly mayReplace: boolean[] = [];
  /** What containers that are created from now on have for the top of their logs. */
  remark: string | undefined;
  /** Usage samples of containers. Other containers have none. */
  readonly used = new Map<string, UsageSample>();
  /** Pulled images that no container uses, the least recently used first. */
  unusedImages: RemovedImage[] = [];
  /** What containers hold on the disk. Other containers hold nothing that is measured. */
  readonly diskUses = new Map<string, DiskUse>();
  readonly #dir: string;
  #changed: ((id: string) => void) | undefined;
  #ids = 0;

  /** The containers' output is stored in `dir`. */
  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true });
  }

  async facts(): Promise<EngineFacts> {
    return { memoryBytes: 2 ** 30, cores: 2, version: 'fake', id: 'fake' };
  }

  async networkProblem(): Promise<string | undefined> {
    return undefined;
  }

  watchFolders(): void {}

  async swarm(): Promise<null> {
    return null;
  }

  async makeOverlay(): Promise<void> {}

  async list(): Promise<ContainerSummary[]> {
    return [...this.containers.values()].map(summaryOf);
  }

  async inspect(id: string): Promise<Container | undefined> {
    return this.containers.get(id);
  }

  async create(
    { service, generation, execution, idProof, image, coresMin, coresMax }: Assignment,
    limit: number,
  ): Promise<Container> {
    await this.#call(`create ${service}.${generation}`);
    if (!this.images.has(image)) throw new EngineError('image-missing', `No such image: ${image}`);
    this.#ids += 1;
    const cpu = { ...claimOf({ coresMin, coresMax }), limit };
    const { remark } = this;
    const id = `c${this.#ids}`;
    return this.#put({ service, generation, execution, idProof, id, cpu, remark, state: 'created' });
  }

  async start(
    { service, generation }: Assignment,
    id: string,
    _cpuLimit: number,
    mayReplace: boolean,
  ): Promise<Container> {
    this.mayReplace.push(mayReplace);
    await this.#call(`start ${service}.${generation}`);
    writeFileSync(this.outputFile(id), '');
    return this.#put({
      service,
      generation,
      id,
      execution: this.containers.get(id)?.execution,
      idProof: this.containers.get(id)?.idProof,
      cpu: this.containers.get(id)?.cpu,
      remark: this.containers.get(id)?.remark,
      state: 'running',
      ipAddress: '10.0.0.1',
      ports: [],
      startedAtMs: 1,
    });
  }

  async updateCpuLimit(id: string, limit: number): Promise<void> {
    await this.#call(`limit ${id} ${limit}`);
    const container = this.containers.get(id);
    if (container?.cpu) this.#put({ ...container, cpu: { ...container.cpu, limit } });
  }

  async usage(ids: readonly string[]): Promise<ReadonlyMap<string, UsageSample>> {
    return new Map([...this.used].filter(([id]) => ids.includes(id)));
  }

  async diskUse(id: string): Promise<DiskUse | undefined> {
    return this.containers.has(id) ? this.diskUses.get(id) : undefined;
  }

  async kill(id: string): Promise<void> {
    await this.#call(`kill ${id}`);
    if (this.containers.get(id)?.state === 'running') this.exit(id, 137);
  }

  async stop(id: string): Promise<void> {
    await this.#call(`stop ${id}`);
    this.exit(id, 143);
  }

  async remove(id: string): Promise<void> {
    await this.#call(`remove ${id}`);
    this.containers.delete(id);
    rmSync(this.outputFile(id), { force: true });
  }

  async pull(image: string, progress: (detail: string) => void, signal: AbortSignal): Promise<void> {
    progress(`pulling ${image}`);
    await this.#call(`pull ${image}`);
    if (signal.aborted) throw new EngineError('temporary', 'no longer wanted');
    this.images.add(image);
  }

  async removeUnusedImage({ wanted, unusedMs }: UnusedImageOptions): Promise<RemovedImage | undefined> {
    const found = this.unusedImages.find((one) => one.unusedMs >= unusedMs && !wanted().includes(one.image));
    if (found) await this.#call(`remove image ${found.image}`);
    this.unusedImages = this.unusedImages.filter((one) => one !== found);
    return found;
  }

  async watch(changed: (id: string) => void): Promise<Watch> {
    this.#changed = changed;
    const over = Promise.withResolvers<void>();
    return { ended: over.promise, close: over.resolve };
  }

  outputFile(id: string): string {
    return `${this.#dir}/${id}.out`;
  }

  followOutput(): AsyncIterable<OutputRecord> {
    throw new Error('the log API is not faked');
  }

  async removeUnused(): Promise<void> {}

  /** Ends the container, as if by itself. */
  exit(id: string, exitCode: number): void {
    const container = this.containers.get(id);
    if (!container) throw new Error(`no container ${id}`);
    const { service, generation } = container;
    this.#put({ service, generation, id, state: 'exited', exitCode, outOfMemory: false, finishedAtMs: 2 });
    this.#changed?.(id);
  }

  /** Removes the container, as a person would. */
  vanish(id: string): void {
    this.containers.delete(id);
    this.#changed?.(id);
  }

  write(id: string, records: Buffer): void {
    appendFileSync(this.outputFile(id), records);
  }

  #put(container: Container): Container {
    this.containers.set(container.id, container);
    return container;
  }

  async #call(call: string): Promise<void> {
    this.calls.push(call);
    await this.before(call);
  }
}

/** What a listing of the engine has of a container. */
export const summaryOf = (container: Container): ContainerSummary => {
  const { id, service, generation, state } = container;
  const health = container.state === 'running' ? container.health?.state : undefined;
  return { id, service, generation, state, ...(health && { health }) };
};
