/** The container contract: maps an assignment to the engine's create options. Pure. */
import type { ContainerCreateOptions, MountSettings } from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { claimOf } from '../cpu-allocation.ts';

/** Facts about the host and the engine that the contract needs besides the assignment. */
export interface Surroundings {
  deployment: string;
  /** Name of this host. */
  host: string;
  /** Id or name of the network to join. */
  network: string;
  mounts: MountSettings[];
  /** Memory limit of a container that has none of its own. */
  memoryBytes: number;
  /** The CPU limit at the start (`nanoCpus`). */
  nanoCpus: number | null;
  init: boolean;
}

export const label = {
  deployment: 'berth.deployment',
  host: 'berth.host',
  execution: 'berth.execution',
  service: 'berth.service',
  generation: 'berth.generation',
  owner: 'berth.owner',
  /** The reservation; for a null reservation, the default. */
  coresMin: 'berth.cores.min',
  /** Absent for a null maximum. */
  coresMax: 'berth.cores.max',
} as const;

export const STOP_GRACE_SECONDS = 10;

/** Mount point of the owner's workspace. */
export const WORKSPACE = '/workspace';

const PIDS_LIMIT = 4096;
/** The engine refuses a smaller soft limit. */
const MIN_RESERVATION_BYTES = 6 * 2 ** 20;
/** The kernel refuses a longer host name. */
const MAX_HOSTNAME_LENGTH = 63;

/**
 * Measured: the driver `local` slows the writer less than the default driver and keeps every byte, including
 * invalid UTF-8. The file is never rotated, so the agent's hard link to it is the complete output (LOG-1,
 * LOG-2).
 */
const LOG_CONFIG = {
  Type: 'local',
  Config: { 'max-size': '1000g', 'max-file': '1', compress: 'false' },
};

export function containerOptions(assignment: Assignment, around: Surroundings): ContainerCreateOptions {
  const { name, image, command, workDir } = assignment;
  const ports = assignment.ports.map(({ port, protocol }) => `${port}/${protocol}`);
  return {
    name,
    Hostname: name.slice(0, MAX_HOSTNAME_LENGTH).replace(/[-.]+$/, ''),
    Image: image,
    // The words are arguments of the image's entry point, if it has one, as with `docker run`.
    ...(command && command.length > 0 ? { Cmd: command } : {}),
    ...(workDir === null ? {} : { WorkingDir: workDir }),
    Env: environment(assignment, around),
    Labels: labels(assignment, around),
    StopTimeout: STOP_GRACE_SECONDS,
    ExposedPorts: Object.fromEntries(ports.map((port) => [port, {}])),
    HostConfig: {
      ...limits(assignment, around),
      NetworkMode: around.network,
      // With an empty host port the engine picks a free port.
      PortBindings: Object.fromEntries(ports.map((port) => [port, [{ HostPort: '' }]])),
      Mounts: around.mounts,
      Init: around.init,
      Privileged: false,
      SecurityOpt: ['no-new-privileges'],
      RestartPolicy: { Name: 'no' },
      LogConfig: LOG_CONFIG,
    },
    NetworkingConfig: { EndpointsConfig: { [around.network]: { Aliases: [name] } } },
  };
}

/** The CPU facts in the engine's info. */
export interface CpuFacts {
  NCPU: number;
  CpuCfsPeriod: boolean;
  CpuCfsQuota: boolean;
}

/** The fields of the engine's info that the agent reads. */
export interface DockerInfo extends CpuFacts {
  ID: string;
  MemTotal: number;
  ServerVersion: string;
  DockerRootDir: string;
  InitBinary?: string;
}

/**
 * The engine's CPU limit, capped at its number of CPUs, since it refuses more. Null if the engine cannot
 * limit CPU, as on some kernels and on many rootless engines (CONT-22).
 */
export const nanoCpus = (cpuLimit: number, { NCPU, CpuCfsPeriod, CpuCfsQuota }: CpuFacts): number | null =>
  CpuCfsPeriod && CpuCfsQuota ? Math.round(1e9 * Math.min(cpuLimit, NCPU)) : null;

function limits(assignment: Assignment, around: Surroundings) {
  const { memoryMinBytes, memoryMaxBytes, shmBytes } = assignment;
  const memory = memoryMaxBytes ?? around.memoryBytes;
  const reservation = memoryMinBytes ?? 0;
  return {
    Memory: memory,
    // Swap is off: a container at its memory limit is out of memory.
    MemorySwap: memory,
    ...(reservation >= MIN_RESERVATION_BYTES ? { MemoryReservation: reservation } : {}),
    CpuShares: Math.max(2, Math.round(1024 * claimOf(assignment).min)),
    // An engine that cannot limit CPU refuses NanoCpus. For unsupported limits of memory and processes it
    // only warns.
    ...(around.nanoCpus === null ? {} : { NanoCpus: around.nanoCpus }),
    PidsLimit: PIDS_LIMIT,
    ...(shmBytes === null ? {} : { ShmSize: shmBytes }),
  };
}

function labels(assignment: Assignment, { deployment, host }: Surroundings): Record<string, string> {
  const { min, max } = claimOf(assignment);
  return {
    [label.deployment]: deployment,
    [label.host]: host,
    [label.execution]: String(assignment.execution),
    [label.service]: String(assignment.service),
    [label.generation]: String(assignment.generation),
    [label.owner]: assignment.owner,
    [label.coresMin]: String(min),
    ...(max === null ? {} : { [label.coresMax]: String(max) }),
  };
}

/**
 * A later variable of the same name wins. The workspace variables are set only if the workspace is mounted.
 */
function environment({ environment }: Assignment, { mounts }: Surroundings): string[] {
  const hasWorkspace = mounts.some(({ Target }) => Target === WORKSPACE);
  const workspace = hasWorkspace ? { BERTH_WORKSPACE: WORKSPACE, ZOE_WORKSPACE: WORKSPACE } : {};
  const variables = new Map([...environment, ...Object.entries(workspace)]);
  return [...variables].map(([name, value]) => `${name}=${value}`);
}
