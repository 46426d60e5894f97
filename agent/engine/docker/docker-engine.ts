/**
 * Implements the engine port with a Docker engine. Touches only containers with this deployment's and host's
 * labels (P6). Never decides what should run, and retries no more than one start needs.
 */
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { MAX_ADDRESS_LENGTH } from '../../../shared/protocol/bounds.ts';
import type { Overlay, Swarm } from '../../../shared/protocol/swarm.ts';
import { claimOf } from '../cpu-allocation.ts';
import {
  engineError,
  isInitMissing,
  isPinLost,
  isPortTaken,
  statusOf,
  tolerate,
  wrapErrors,
} from '../docker-error.ts';
import {
  type Container,
  type ContainerSummary,
  type DiskUse,
  type Engine,
  EngineError,
  type EngineFacts,
  type OutputRecord,
  type RemovedImage,
  type Start,
  type StartMark,
  type UnusedImageOptions,
  type UsageSample,
  type Watch,
} from '../engine.ts';
import { type EngineFiles, filesIn } from '../engine-files.ts';
import { closeFolders, type MountRules } from '../folders/allowed-folders.ts';
import { containerUser, type RunAs } from '../folders/container-user.ts';
import { HostFolders } from '../folders/host-folders.ts';
import type { HealthChecks } from '../health/health-checks.ts';
import type { ImageRecordOptions } from '../images/image-record.ts';
import { label } from '../labels.ts';
import { ContainerNetworks, type NetworkOptions } from '../networks/container-networks.ts';
import { killProcesses } from '../processes/container-processes.ts';
import { ContainerImages } from '../pulls/container-images.ts';
import { OwnImages } from '../pulls/own-images.ts';
import { requirePlatform } from '../pulls/platform.ts';
import { PrivateImages } from '../pulls/private-images.ts';
import { type PullOptions, Pulls } from '../pulls/pulls.ts';
import { readDiskUse } from './container-disk-use.ts';
import { memoryKills, OomEvents, watchContainers } from './container-events.ts';
import type { ContainerSettings } from './container-settings.ts';
import {
  containerOptions,
  type DockerInfo,
  nanoCpus,
  publishedPorts,
  STOP_GRACE_SECONDS,
} from './container-spec.ts';
import { readContainer, readSummary } from './container-state.ts';
import { readUsage } from './container-usage.ts';
import { healthChecks, requireCheckable } from './health-probe.ts';
import { freeHostPorts } from './host-ports.ts';
import { followOutput } from './output-stream.ts';
import { startErrorOf } from './start-error.ts';

/** What the settings of an agent say about its engine. */
export interface DockerEngineOptions extends MountRules, NetworkOptions, ContainerSettings {
  /** Name of this host. */
  host: string;
  /** Memory withheld from a container without a limit, on a machine of this size. */
  reservedOf(totalBytes: number): number;
  /** Most bytes of one container's output at an engine whose files are out of reach. */
  logMaxBytes: number;
  /** The user of a container with host folders. */
  runAs: RunAs;
  /** How long the engine may take to list its containers. Default: 20 s. */
  listMs?: number;
  pull: PullOptions;
  images: ImageRecordOptions;
  /** The file of the pulls with credentials that have begun (P236). */
  intentsFile: string;
}

/** Starts of one container, each on other ports of the host. */
const MAX_PORT_ATTEMPTS = 5;

/** An engine that takes longer to list its containers counts as away. */
const LIST_MS = 20_000;

const MAY_HAVE_RUN = 'the container may have run before, and cannot start again as it was created';

export class DockerEngine implements Engine {
  /** For calls that return. */
  readonly #docker: Docker;
  /** For streams, which may be silent for a long time. */
  readonly #streams: Docker;
  readonly #options: DockerEngineOptions;
  readonly #networks: ContainerNetworks;
  readonly #folders: HostFolders;
  readonly #images: OwnImages;
  readonly #pulls: Pulls;
  readonly #containerImages: ContainerImages;
  readonly #oomEvents = new OomEvents();
  readonly #info: EngineInfo;
  readonly #health: HealthChecks;
  /** The engine's files, once `facts` has found them. Undefined if the agent cannot read them. */
  #files: EngineFiles | undefined;
  #initWorks = true;
  /** The id that `facts` has found. */
  #id: string | undefined;

  constructor(docker: Docker, streams: Docker, options: DockerEngineOptions) {
    this.#docker = docker;
    this.#streams = streams;
    this.#options = options;
    this.#info = new EngineInfo(docker);
    this.#health = healthChecks(docker, streams, options.local);
    const identity = () => this.#info.identity();
    this.#networks = new ContainerNetworks(docker, options, identity);
    const labels = { [label.deployment]: options.deployment, [label.folders]: options.host };
    this.#folders = new HostFolders(docker, options, labels, { [label.host]: '' });
    const { images, intentsFile: file, deployment } = options;
    const privateImages = new PrivateImages(docker, { ...images, file, deployment }, identity);
    this.#images = new OwnImages(docker, images, identity, privateImages);
    this.#pulls = new Pulls(streams, this.#images, privateImages, options.pull);
    this.#containerImages = new ContainerImages(docker, privateImages);
  }

  async facts(): Promise<EngineFacts> {
    const info = await this.#info.refresh();
    const { MemTotal, NCPU, ServerVersion, DockerRootDir } = info;
    this.#id = engineId(info);
    const facts = { memoryBytes: MemTotal, cores: NCPU, version: ServerVersion, id: this.#id };
    this.#files = this.#options.local ? await filesIn(DockerRootDir) : undefined;
    return { ...facts, dataDir: this.#options.local ? DockerRootDir : undefined };
  }

  networkProblem(): Promise<string | undefined> {
    return this.#networks.problem();
  }

  watchFolders(found: (problem: string | undefined) => void): void {
    this.#folders.watch(found);
  }

  swarm(): Promise<Swarm | null> {
    return this.#networks.swarm();
  }

  makeOverlay(overlay: Overlay): Promise<void> {
    return this.#networks.makeOverlay(overlay);
  }

  async list(): Promise<ContainerSummary[]> {
    const filters = { label: this.#labels() };
    const listed = this.#health.listing();
    const present = this.#oomEvents.listing();
    const abortSignal = AbortSignal.timeout(this.#options.listMs ?? LIST_MS);
    const infos = await wrapErrors(this.#docker.listContainers({ all: true, filters, abortSignal }));
    const found = infos.flatMap((info) => readSummary(info, this.#health.stateOf(info.Id)) ?? []);
    present(new Set(infos.map(({ Id }) => Id)));
    listed(new Set(found.filter(({ state }) => state === 'running').map(({ id }) => id)));
    return found;
  }

  async inspect(id: string): Promise<Container | undefined> {
    try {
      const kills = await this.#memoryKills();
      const info = await this.#docker.getContainer(id).inspect();
      const container = this.#isOurs(info) ? readContainer(info) : undefined;
      if (container?.state === 'running') this.#oomEvents.ran(container.id, kills);
      if (container?.state !== 'exited') return container && this.#health.withHealth(container, info);
      this.#health.forget(container.id);
      const explained = await this.#oomEvents.explain(container, await this.#memoryKills());
      const startError = await startErrorOf(this.#docker, info);
      return { ...explained, ...(startError === undefined ? {} : { startError }) };
    } catch (error) {
      if (statusOf(error) !== 404) throw engineError(error);
      this.#health.forget(id);
      return undefined;
    }
  }

  async create(assignment: Start, cpuLimit: number): Promise<Container> {
    const { service, generation, execution, idProof } = assignment;
    const info = await this.#info.read();
    const { deployment, host, reservedOf, logMaxBytes, bind, capabilities, etcFiles } = this.#options;
    const around = {
      deployment,
      host,
      bind,
      capabilities,
      etcFiles,
      network: await this.#networks.join(assignment),
      overlay: await this.#networks.overlay(assignment),
      memoryBytes: Math.max(0, info.MemTotal - reservedOf(info.MemTotal)),
      nanoCpus: nanoCpus(cpuLimit, info),
      rotatedLogBytes: this.#files ? null : logMaxBytes,
      init: this.#initWorks && (info.InitBinary ?? '') !== '',
      hostPorts: bind === null ? await freeHostPorts(publishedPorts(assignment)) : undefined,
    };
    const folders = await wrapErrors(this.#folders.open(assignment));
    try {
      const mounts = this.#folders.mountsOf(folders);
      const user = containerUser(assignment, folders.length > 0, this.#options.runAs);
      const remark = this.#folders.remarkOn(assignment, folders);
      const options = containerOptions(assignment, { ...around, mounts, user, remark });
      const { id } = await this.#docker.createContainer(options);
      await this.#containerImages.created(id, assignment);
      await requirePlatform(this.#docker, id, assignment.image, info, this.#options.local);
      await requireCheckable(this.#docker, id, assignment, this.#options.local);
      this.#folders.hold(id, folders);
      const cpu = { ...claimOf(assignment), limit: cpuLimit };
      return { service, generation, execution, idProof, id, cpu, state: 'created' };
    } catch (error) {
      await closeFolders(folders);
      if (statusOf(error) !== 409) throw engineError(error);
      return await this.#holderOfName(assignment, error);
    }
  }

  async start(
    assignment: Start,
    id: string,
    cpuLimit: number,
    mayReplace: boolean,
    mark?: StartMark,
  ): Promise<Container> {
    let startedId = id;
    const recreate = async (): Promise<string> => {
      if (!mayReplace) throw new EngineError('temporary', MAY_HAVE_RUN);
      mark?.clear();
      await this.remove(startedId);
      const created = await this.create(assignment, cpuLimit);
      mark?.set();
      return created.id;
    };
    await this.#containerImages.starts(id, assignment, () => mayReplace && mark?.clear());
    if (!(await this.#hasFolders(assignment, id))) startedId = await recreate();
    for (let attempt = 1; ; attempt += 1)
      try {
        await this.#start(assignment, startedId);
        break;
      } catch (error) {
        const otherPorts = isPortTaken(error) && attempt < MAX_PORT_ATTEMPTS;
        const mayRecreate =
          otherPorts || (startedId === id && (await this.#canRecreate(assignment, id, error)));
        if (!mayRecreate) throw engineError(error);
        startedId = await recreate();
      }
    await this.#networks.started(assignment, startedId);
    const container = await this.inspect(startedId);
    if (!container) throw new EngineError('temporary', 'the container vanished right after its start');
    return container;
  }

  async updateCpuLimit(id: string, cpuLimit: number): Promise<void> {
    const NanoCpus = nanoCpus(cpuLimit, await this.#info.read());
    if (NanoCpus !== null) await tolerate(this.#docker.getContainer(id).update({ NanoCpus }), [404]);
  }

  usage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, UsageSample>> {
    return readUsage(this.#docker, ids, signal);
  }

  diskUse(id: string, limitMs: number): Promise<DiskUse | undefined> {
    return readDiskUse(this.#docker, id, this.#files?.output(id), limitMs);
  }

  async stop(id: string): Promise<void> {
    await tolerate(this.#docker.getContainer(id).stop({ t: STOP_GRACE_SECONDS }), [304, 404]);
  }

  async kill(id: string): Promise<void> {
    // The engine writes to its disk before it kills. That takes seconds while a container fills the disk.
    if (this.#options.local && (await killProcesses(id))) return;
    await tolerate(this.#docker.getContainer(id).kill(), [404, 409]);
  }

  async remove(id: string): Promise<void> {
    await tolerate(this.#docker.getContainer(id).remove({ v: true, force: true }), [404]);
    await this.#folders.release(id);
  }

  pull(...wanted: Parameters<Engine['pull']>): Promise<void> {
    return this.#pulls.pull(...wanted);
  }

  removeUnusedImage(options: UnusedImageOptions): Promise<RemovedImage | undefined> {
    return this.#images.removeUnused(options);
  }

  async watch(changed: (id: string) => void): Promise<Watch> {
    this.#folders.forgetProof();
    this.#health.onChange(changed);
    const watch = await watchContainers(this.#streams, this.#labels(), this.#oomEvents, changed);
    try {
      await this.#assertSame();
    } catch (error) {
      watch.close();
      throw error;
    }
    return watch;
  }

  /** Another engine may answer in place of the one that has the containers of this host (P318). */
  async #assertSame(): Promise<void> {
    if (this.#id === undefined) return;
    const id = engineId(await this.#info.refresh());
    if (id === this.#id) return;
    throw new EngineError('unreachable', `another engine answers, ${id}, in place of ${this.#id}`);
  }

  outputFile(id: string): string | undefined {
    return this.#files?.output(id);
  }

  followOutput(id: string, sinceNs: bigint, signal: AbortSignal): AsyncGenerator<OutputRecord> {
    return followOutput(this.#streams, id, sinceNs, signal);
  }

  async removeUnused(graceMs: number): Promise<void> {
    await wrapErrors(this.#folders.removeUnused());
    await this.#networks.removeUnused(graceMs);
  }

  #labels(): string[] {
    const { deployment, host } = this.#options;
    return [`${label.deployment}=${deployment}`, `${label.host}=${host}`];
  }

  #isOurs({ Config }: ContainerInspectInfo): boolean {
    const { deployment, host } = this.#options;
    return Config.Labels?.[label.deployment] === deployment && Config.Labels[label.host] === host;
  }

  /** Undefined where the containers run on another kernel. */
  async #memoryKills(): Promise<number | undefined> {
    return this.#options.local ? await memoryKills() : undefined;
  }

  async #start(assignment: Assignment, id: string): Promise<void> {
    try {
      await this.#networks.start(assignment, id, () =>
        this.#folders.whileSafe(id, () => this.#docker.getContainer(id).start()),
      );
    } catch (error) {
      if (isPinLost(error)) this.#folders.forgetProof();
      if (statusOf(error) !== 304) throw error;
    }
    await this.#folders.release(id);
  }

  /** False if the container has yet to start with folders that only an earlier agent process held open. */
  async #hasFolders(assignment: Assignment, id: string): Promise<boolean> {
    if (!this.#folders.mayMount(assignment) || this.#folders.holds(id)) return true;
    return (await this.inspect(id))?.state !== 'created';
  }

  /** True if a new container can start: on another network, or without the engine's init process. */
  async #canRecreate(assignment: Assignment, id: string, error: unknown): Promise<boolean> {
    if (await this.#networks.recover(assignment, id, error)) return true;
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

/** For people to copy, too. Engines of one machine may have the same ID, but never the same folder. */
const engineId = ({ ID, DockerRootDir }: Pick<DockerInfo, 'ID' | 'DockerRootDir'>): string =>
  `${ID}@${DockerRootDir}`.slice(0, MAX_ADDRESS_LENGTH);

/** The engine's own description of itself, read once for all who need it. */
export class EngineInfo {
  readonly #docker: Docker;
  #info: Promise<DockerInfo> | undefined;

  constructor(docker: Docker) {
    this.#docker = docker;
  }

  read(): Promise<DockerInfo> {
    this.#info ??= wrapErrors(this.#docker.info() as Promise<DockerInfo>).catch((error: unknown) => {
      this.#info = undefined;
      throw error;
    });
    return this.#info;
  }

  /** Differs between engines, and after an engine has got another data folder. */
  async identity(): Promise<string> {
    const { ID, DockerRootDir } = await this.read();
    return `${ID} ${DockerRootDir}`;
  }

  /** Reads again. */
  refresh(): Promise<DockerInfo> {
    this.#info = undefined;
    return this.read();
  }
}
