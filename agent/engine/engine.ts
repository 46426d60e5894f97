/** Owns what the agent needs of a container engine: the port, and the errors it speaks in. Never imports an engine. */
import type { Assignment, ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Observation } from '../../shared/protocol/up.ts';
import type { CpuClaim } from './cpu-allocation.ts';

export type PublishedPort = Extract<Observation, { state: 'running' }>['ports'][number];

/** What a container asks of the host's cores, and what it may use of them for now, in cores. */
export type ContainerCpu = CpuClaim & { limit: number };

/** What labels tell of a container besides its key; a part that another version of Berth did not write is not there. */
interface Labelled {
  execution?: number | undefined;
  cpu?: ContainerCpu | undefined;
}

/** A container of this deployment and host, as the engine sees it. */
export type Container = ServiceKey & { id: string } & Labelled &
  (
    | { state: 'created' }
    | { state: 'running'; ipAddress: string; ports: PublishedPort[]; startedAtMs: number }
    | {
        state: 'exited';
        exitCode: number;
        outOfMemory: boolean;
        finishedAtMs: number;
        /** Why the command could not be run at all, where that is known. */
        startError?: string;
      }
  );

/** What a listing tells; `inspect` tells the rest. */
export type ContainerSummary = Pick<Container, 'id' | 'service' | 'generation' | 'state'>;

export interface EngineFacts {
  memoryBytes: number;
  cores: number;
  version: string;
  /** Where the engine keeps images and containers, if that can be on this machine. */
  dataDir?: string | undefined;
}

/** A piece of a container's output; `partial` where the line goes on in the next piece of the same source. */
export interface OutputRecord {
  source: 'stdout' | 'stderr';
  timeNs: bigint;
  line: Buffer;
  partial: boolean;
}

/** What a container has used at a moment, by the engine's clock: cpu time since its start, and the memory it works with. */
export interface UsageSample {
  timeMs: number;
  cpuMs: number;
  memoryBytes: number;
}

/** A subscription to changes; `ended` settles when the engine or `close` ends it. */
export interface Watch {
  ended: Promise<void>;
  close(): void;
}

/** Every method throws EngineError. */
export interface Engine {
  facts(): Promise<EngineFacts>;
  /** Why no container can join the network that services are on, and what to do, where the engine can tell. */
  networkProblem(): Promise<string | undefined>;
  list(): Promise<ContainerSummary[]>;
  /** Undefined where there is no such container any more. */
  inspect(id: string): Promise<Container | undefined>;
  /** Creates the container with a limit of cores, or finds the one an earlier call with the same key made. */
  create(assignment: Assignment, cpuLimit: number): Promise<Container>;
  /** Starts it; the container returned may be a new one where the first could not be started as it was made. */
  start(assignment: Assignment, id: string, cpuLimit: number): Promise<Container>;
  /** Changes its limit of cores, while it runs. One that is not there needs none. */
  updateCpuLimit(id: string, cpuLimit: number): Promise<void>;
  /** What those of them that run have used, as far as the engine tells until `signal` aborts. */
  usage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, UsageSample>>;
  /** SIGTERM, and SIGKILL after the grace period. A container that is not running or not there is stopped. */
  stop(id: string): Promise<void>;
  /** One that is not there is removed. */
  remove(id: string): Promise<void>;
  pull(image: string, progress: (detail: string) => void, signal: AbortSignal): Promise<void>;
  /** Calls `changed` with the id of each container that may have changed: a reason to look again, no more. */
  watch(changed: (id: string) => void): Promise<Watch>;
  /** The file in which the engine keeps the container's output; undefined where it can't be on this machine. */
  outputFile(id: string): string | undefined;
  /** The output from `sinceNs` on, ending when the container has ended. */
  followOutput(id: string, sinceNs: bigint, signal: AbortSignal): AsyncIterable<OutputRecord>;
  /** Removes what was made for the deployment and serves nothing any more. */
  tidy(): Promise<void>;
}

/**
 * `unreachable`: nothing is known of what the engine did. `image-missing`: pull it and try again.
 * `temporary`: the same may succeed later. `permanent`: it will not.
 */
export type EngineErrorKind = 'unreachable' | 'image-missing' | 'temporary' | 'permanent';

/** The message is in the engine's own words. */
export class EngineError extends Error {
  override name = 'EngineError';
  readonly kind: EngineErrorKind;

  constructor(kind: EngineErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}
