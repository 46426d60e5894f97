/**
 * The engine port: what the agent needs of a container engine, and the errors that the engine throws. Never
 * imports an engine.
 */
import type { Assignment, ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Health } from '../../shared/protocol/health.ts';
import type { RegistryCredentials } from '../../shared/protocol/secrets.ts';
import type { Overlay, Swarm } from '../../shared/protocol/swarm.ts';
import type { Observation } from '../../shared/protocol/up.ts';
import type { CpuClaim } from './cpu-allocation.ts';

type MemoryKill = NonNullable<Extract<Observation, { state: 'exited' }>['memoryKill']>;

export type PublishedPort = Extract<Observation, { state: 'running' }>['ports'][number];

/** CPU of one container, in cores: its reservation and maximum, and the limit in force. */
export type ContainerCpu = CpuClaim & { limit: number };

/**
 * Read from labels. A field is undefined if another version of Berth created the container without its label.
 */
interface Labelled {
  execution?: number | undefined;
  /** Proof of the ids of execution and service (P143). */
  idProof?: string | undefined;
  cpu?: ContainerCpu | undefined;
  /** A sentence for the top of its log. */
  remark?: string | undefined;
}

/** A container of this deployment and host, as the engine reports it. */
export type Container = ServiceKey & { id: string } & Labelled &
  (
    | { state: 'created' }
    | {
        state: 'running';
        ipAddress: string;
        ports: PublishedPort[];
        startedAtMs: number;
        /** Whether somebody has paused it. */
        paused?: true;
        /** Undefined if it is not checked. */
        health?: Health;
      }
    | {
        state: 'exited';
        exitCode: number;
        /** Whether a lack of memory has ended it. */
        outOfMemory: boolean;
        /** No process was killed for lack of memory at the end, or another one before. Undefined: unknown. */
        memoryKill?: MemoryKill;
        finishedAtMs: number;
        /** Why the command could not be run, if the cause is known. */
        startError?: string;
      }
  );

/** A file of the host that a container sees at the path `target`, read-only. */
export interface MountedFile {
  source: string;
  target: string;
}

/** What a container is created from: an assignment with its secrets, which must never be logged. */
export type Start = Assignment & { files?: readonly MountedFile[] };

/** What a listing returns. `inspect` returns all fields. */
export type ContainerSummary = Pick<Container, 'id' | 'service' | 'generation' | 'state'> & {
  paused?: true;
  /** What its health checks have found, as far as they run. */
  health?: Health['state'];
};

/** The caller's note that a start has begun: without its container, the service then counts as removed. */
export interface StartMark {
  /** Called before a container that has not run is removed. */
  clear(): void;
  /** Called before its replacement starts. Throws EngineError if that must not start. */
  set(): void;
}

export interface EngineFacts {
  memoryBytes: number;
  cores: number;
  version: string;
  /** Differs between engines, and after an engine has got another data folder. */
  id: string;
  /** The engine's data folder. Undefined if it cannot be on this machine. */
  dataDir?: string | undefined;
}

/** A piece of a container's output. `partial`: the line continues in the next piece of the same source. */
export interface OutputRecord {
  source: 'stdout' | 'stderr';
  timeNs: bigint;
  line: Buffer;
  partial: boolean;
}

/**
 * Usage of one container at a moment of the engine's clock: CPU time since its start, and its working set.
 */
export interface UsageSample {
  timeMs: number;
  cpuMs: number;
  memoryBytes: number;
}

/** What a container holds on the engine's disk. */
export interface DiskUse {
  /** Its writable layer and its anonymous volumes, which are removed with it. */
  bytes: number;
  /** Its output, which the agent keeps. */
  outputBytes: number;
  /** Files in `bytes`. Null if the engine measured, which does not count them. */
  files: number | null;
  /** False if there was not enough time to count all files. */
  isComplete: boolean;
}

/** An image that was removed. */
export interface RemovedImage {
  image: string;
  /** What only this image had on the disk. Older engines report what all its layers had. */
  bytes: number;
  /** Time since it was last seen in use. */
  unusedMs: number;
}

export interface UnusedImageOptions {
  /** Images that may be about to start. They count as used. */
  wanted(): readonly string[];
  /** An image that was used since is not removed. */
  unusedMs: number;
}

/** A subscription to changes. `ended` settles when the engine ends it or `close` is called. */
export interface Watch {
  ended: Promise<void>;
  close(): void;
}

/** Every method throws EngineError. */
export interface Engine {
  facts(): Promise<EngineFacts>;
  /**
   * Why no container can join the services' network, with the remedy. Undefined if the engine reports no
   * problem.
   */
  networkProblem(): Promise<string | undefined>;
  /**
   * Calls `found` whenever the engine has shown whether host folders can be pinned: with the reason and the
   * remedy if they can't, otherwise with undefined.
   */
  watchFolders(found: (problem: string | undefined) => void): void;
  /** The swarm whose overlay networks containers can join. Null: none. */
  swarm(): Promise<Swarm | null>;
  /** Makes an overlay network in the swarm that this engine manages. Succeeds if it exists. */
  makeOverlay(overlay: Overlay): Promise<void>;
  list(): Promise<ContainerSummary[]>;
  /** Undefined if the container does not exist. */
  inspect(id: string): Promise<Container | undefined>;
  /**
   * Creates the container with a CPU limit, or returns the container that an earlier call with the same key
   * created. An image that came with credentials of others counts as missing (P235).
   */
  create(assignment: Start, cpuLimit: number): Promise<Container>;
  /**
   * Starts the container. If it can't be started as it was created, the returned container is a new one. A
   * container that may have run before must not be replaced (P114): the start then fails temporarily.
   */
  start(
    assignment: Start,
    id: string,
    cpuLimit: number,
    mayReplace: boolean,
    mark?: StartMark,
  ): Promise<Container>;
  /** Changes the CPU limit of a running container. Succeeds if the container does not exist. */
  updateCpuLimit(id: string, cpuLimit: number): Promise<void>;
  /**
   * Usage samples of the running containers among `ids`, as far as the engine returns them before `signal`
   * aborts.
   */
  usage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, UsageSample>>;
  /** Measures within a few times `limitMs`. Undefined if the container does not exist. */
  diskUse(id: string, limitMs: number): Promise<DiskUse | undefined>;
  /**
   * Sends SIGTERM, and SIGKILL after the grace period. Succeeds if the container is not running or does not
   * exist.
   */
  stop(id: string): Promise<void>;
  /** Sends SIGKILL. Succeeds if the container is not running or does not exist. */
  kill(id: string): Promise<void>;
  /** Succeeds if the container does not exist. */
  remove(id: string): Promise<void>;
  /** Without credentials, with those that the host itself has, if any. */
  pull(
    image: string,
    progress: (detail: string) => void,
    signal: AbortSignal,
    credentials?: RegistryCredentials,
  ): Promise<void>;
  /**
   * Notes which of the pulled images are in use, and removes the one that nobody has used for longest (P182).
   * Undefined if there is none.
   */
  removeUnusedImage(options: UnusedImageOptions): Promise<RemovedImage | undefined>;
  /**
   * Calls `changed` with the id of each container that may have changed, its health included. The call only
   * means: inspect again.
   */
  watch(changed: (id: string) => void): Promise<Watch>;
  /**
   * The file in which the engine stores the container's output. Undefined if the file cannot be on this
   * machine.
   */
  outputFile(id: string): string | undefined;
  /** The output from `sinceNs` on. Ends when the container has ended. */
  followOutput(id: string, sinceNs: bigint, signal: AbortSignal): AsyncIterable<OutputRecord>;
  /** Removes networks that nothing has used for `graceMs`, and what a killed agent has left of a proof. */
  removeUnused(graceMs: number): Promise<void>;
}

/**
 * `unreachable`: the result of the call is unknown. `image-missing`: pull the image and retry. `temporary`:
 * the same call may succeed later. `permanent`: it will not.
 */
export type EngineErrorKind = 'unreachable' | 'image-missing' | 'temporary' | 'permanent';

/** The message is the engine's own. */
export class EngineError extends Error {
  override name = 'EngineError';
  readonly kind: EngineErrorKind;

  constructor(kind: EngineErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}
