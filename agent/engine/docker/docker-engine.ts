/**
 * Implements the engine port with a Docker engine. Touches only containers with this deployment's and host's
 * labels (P6). Never decides what should run, and retries no more than one start needs.
 */
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { claimOf } from '../cpu-allocation.ts';
import {
  type Container,
  type ContainerSummary,
  type Engine,
  EngineError,
  type EngineFacts,
  type OutputRecord,
  type UsageSample,
  type Watch,
} from '../engine.ts';
import { containerOptions, type DockerInfo, label, nanoCpus, STOP_GRACE_SECONDS } from './container-spec.ts';
import { readContainer, readSummary } from './container-state.ts';
import { readUsage } from './container-usage.ts';
import {
  engineError,
  isInitMissing,
  isNetworkMissing,
  statusOf,
  tolerate,
  wrapErrors,
} from './docker-error.ts';
import { jsonLines } from './json-lines.ts';
import { type MountRules, resolveMounts } from './mounts.ts';
import type { ServiceNetwork } from './network.ts';
import { OomEvents } from './oom-events.ts';
import { outputRecords } from './output-stream.ts';
import { type PullOptions, Pulls } from './pulls.ts';
import { networkOf } from './shared-network.ts';
import { startErrorOf } from './start-error.ts';

export interface DockerEngineOptions extends MountRules {
  deployment: string;
  /** Name of this host. */
  host: string;
  /** True if the engine's files are on this machine. */
  local: boolean;
  /** Memory withheld from containers that have no limit of their own. */
  reserveBytes: number;
  /** An existing network for the deployment's containers. Null: the deployment has its own network. */
  network: string | null;
  /** Networks that a description may name, besides the deployment's own. */
  networks: readonly string[];
  pull: PullOptions;
}

/** Exit code after SIGKILL, of the process or of the init process's only child. */
const KILLED = 137;

export class DockerEngine implements Engine {
  /** For calls that return. */
  readonly #docker: Docker;
  /** For streams, which may be silent for a long time. */
  readonly #streams: Docker;
  readonly #options: DockerEngineOptions;
  readonly #network: ServiceNetwork;
  readonly #pulls: Pulls;
  readonly #oomEvents = new OomEvents();
  #info: Promise<DockerInfo> | undefined;
  /** The engine's data folder, once `facts` has read it. */
  #dataDir: string | undefined;
  #initWorks = true;

  constructor(docker: Docker, streams: Docker, options: DockerEngineOptions) {
    this.#docker = docker;
    this.#streams = streams;
    this.#options = options;
    const engineId = async () => {
      const { ID, DockerRootDir } = await this.#readInfo();
      return `${ID} ${DockerRootDir}`;
    };
    this.#network = networkOf(docker, options, engineId);
    this.#pulls = new Pulls(streams, options.pull);
  }

  async facts(): Promise<EngineFacts> {
    this.#info = undefined;
    const { MemTotal, NCPU, ServerVersion, DockerRootDir } = await this.#readInfo();
    this.#dataDir = DockerRootDir;
    const dataDir = this.#options.local ? DockerRootDir : undefined;
    return { memoryBytes: MemTotal, cores: NCPU, version: ServerVersion, dataDir };
  }

  networkProblem(): Promise<string | undefined> {
    return this.#network.problem();
  }

  async list(): Promise<ContainerSummary[]> {
    const filters = { label: this.#labels() };
    const infos = await wrapErrors(this.#docker.listContainers({ all: true, filters }));
    return infos.map(readSummary).filter((summary) => summary !== undefined);
  }

  async inspect(id: string): Promise<Container | undefined> {
    try {
      const info = await this.#docker.getContainer(id).inspect();
      const container = this.#isOurs(info) ? readContainer(info) : undefined;
      if (container?.state !== 'exited') return container;
      const outOfMemory = await this.#ranOutOfMemory(container);
      const { Init } = info.HostConfig;
      const startError = Init ? await startErrorOf(this.#docker, id, container.exitCode) : undefined;
      return { ...container, outOfMemory, ...(startError === undefined ? {} : { startError }) };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw engineError(error);
    }
  }

  async create(assignment: Assignment, cpuLimit: number): Promise<Container> {
    const { service, generation, execution } = assignment;
    const mounts = await resolveMounts(assignment, this.#options);
    const info = await this.#readInfo();
    const { MemTotal, InitBinary } = info;
    const { deployment, host, reserveBytes } = this.#options;
    const options = containerOptions(assignment, {
      deployment,
      host,
      mounts,
      network: await this.#networkOf(assignment),
      memoryBytes: Math.max(0, MemTotal - reserveBytes),
      nanoCpus: nanoCpus(cpuLimit, info),
      init: this.#initWorks && (InitBinary ?? '') !== '',
    });
    try {
      const { id } = await this.#docker.createContainer(options);
      const cpu = { ...claimOf(assignment), limit: cpuLimit };
      return { service, generation, execution, id, cpu, state: 'created' };
    } catch (error) {
      if (statusOf(error) !== 409) throw engineError(error);
      return await this.#holderOfName(assignment, error);
    }
  }

  /**
   * A description may name only networks that the host's settings allow: `host`, for example, gives no
   * isolation.
   */
  #networkOf({ network }: Assignment): Promise<string> | string {
    if (network === null) return wrapErrors(this.#network.id());
    if (this.#options.networks.includes(network)) return network;
    const remedy = 'its agent allows only the networks in BERTH_AGENT_NETWORKS';
    throw new EngineError('permanent', `network not allowed on this host: ${network} (${remedy})`);
  }

  async start(assignment: Assignment, id: string, cpuLimit: number): Promise<Container> {
    let startedId = id;
    try {
      await this.#start(id);
    } catch (error) {
      if (!this.#canRecreate(assignment, error)) throw engineError(error);
      await this.remove(id);
      startedId = (await this.create(assignment, cpuLimit)).id;
      await wrapErrors(this.#start(startedId));
    }
    const container = await this.inspect(startedId);
    if (!container) throw new EngineError('temporary', 'the container vanished right after its start');
    return container;
  }

  async updateCpuLimit(id: string, cpuLimit: number): Promise<void> {
    const NanoCpus = nanoCpus(cpuLimit, await this.#readInfo());
    if (NanoCpus !== null) await tolerate(this.#docker.getContainer(id).update({ NanoCpus }), [404]);
  }

  usage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, UsageSample>> {
    return readUsage(this.#docker, ids, signal);
  }

  async stop(id: string): Promise<void> {
    await tolerate(this.#docker.getContainer(id).stop({ t: STOP_GRACE_SECONDS }), [304, 404]);
  }

  async remove(id: string): Promise<void> {
    await tolerate(this.#docker.getContainer(id).remove({ v: true, force: true }), [404]);
  }

  pull(image: string, progress: (detail: string) => void, signal: AbortSignal): Promise<void> {
    return this.#pulls.pull(image, progress, signal);
  }

  async watch(changed: (id: string) => void): Promise<Watch> {
    const abort = new AbortController();
    const stream = await wrapErrors(
      this.#streams.getEvents({
        filters: { type: ['container'], event: ['die', 'oom', 'destroy'], label: this.#labels() },
        abortSignal: abort.signal,
      }),
    );
    const read = async () => {
      for await (const { Action, Actor } of jsonLines<{ Action: string; Actor: { ID: string } }>(stream)) {
        if (Action === 'oom') this.#oomEvents.add(Actor.ID);
        else changed(Actor.ID);
        if (Action === 'destroy') this.#oomEvents.forget(Actor.ID);
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

  outputFile(id: string): string | undefined {
    if (!this.#options.local || this.#dataDir === undefined) return undefined;
    return `${this.#dataDir}/containers/${id}/local-logs/container.log`;
  }

  async *followOutput(id: string, sinceNs: bigint, signal: AbortSignal): AsyncGenerator<OutputRecord> {
    const since = `${sinceNs / 1_000_000_000n}.${String(sinceNs % 1_000_000_000n).padStart(9, '0')}`;
    const stream = await wrapErrors(
      this.#streams.getContainer(id).logs({
        follow: true,
        stdout: true,
        stderr: true,
        timestamps: true,
        // The engine reads decimals, which a number of this size cannot represent.
        since: since as unknown as number,
        abortSignal: signal,
      }),
    );
    try {
      yield* outputRecords(stream);
    } catch (error) {
      throw engineError(error);
    }
  }

  async tidy(): Promise<void> {
    await wrapErrors(this.#network.removeUnused());
  }

  #readInfo(): Promise<DockerInfo> {
    this.#info ??= wrapErrors(this.#docker.info() as Promise<DockerInfo>).catch((error: unknown) => {
      this.#info = undefined;
      throw error;
    });
    return this.#info;
  }

  #labels(): string[] {
    const { deployment, host } = this.#options;
    return [`${label.deployment}=${deployment}`, `${label.host}=${host}`];
  }

  #isOurs({ Config }: ContainerInspectInfo): boolean {
    const { deployment, host } = this.#options;
    return Config.Labels?.[label.deployment] === deployment && Config.Labels[label.host] === host;
  }

  /** Waits no longer than the event can take. If the event is lost, only the signal is known (CONT-18). */
  async #ranOutOfMemory(container: Extract<Container, { state: 'exited' }>): Promise<boolean> {
    const { id, outOfMemory, exitCode, finishedAtMs } = container;
    if (outOfMemory || exitCode !== KILLED) return outOfMemory;
    return await this.#oomEvents.arrived(id, Date.now() - finishedAtMs);
  }

  async #start(id: string): Promise<void> {
    try {
      await this.#docker.getContainer(id).start();
    } catch (error) {
      if (statusOf(error) !== 304) throw error;
    }
  }

  /** True if the network has vanished since it was found, or if the engine's init process does not work. */
  #canRecreate(assignment: Assignment, error: unknown): boolean {
    if (isNetworkMissing(error) && assignment.network === null) {
      this.#network.forget();
      return true;
    }
    if (isInitMissing(error) && this.#initWorks) {
      this.#initWorks = false;
      return true;
    }
    return false;
  }

  /**
   * The name is in use: by the container of an earlier call with the same key, whose answer was lost, or by
   * another container, which may not be Berth's and may be gone by now.
   */
  async #holderOfName(assignment: Assignment, conflict: unknown): Promise<Container> {
    const holder = await this.inspect(assignment.name);
    if (holder?.service === assignment.service && holder.generation === assignment.generation) return holder;
    throw new EngineError('temporary', engineError(conflict).message, conflict);
  }
}
