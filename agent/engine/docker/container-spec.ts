/** Owns the container contract: from an assignment to the engine's create options. Pure. */
import type { ContainerCreateOptions, MountSettings } from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { claimOf } from '../cpu-allocation.ts';

/** What the contract needs to know beside the assignment. */
export interface Surroundings {
  deployment: string;
  /** Name of this host. */
  host: string;
  /** Id or name of the network to join. */
  network: string;
  mounts: MountSettings[];
  /** The host's caps. */
  memoryBytes: number;
  /** What it may use of the cores for now (`nanoCpus`). */
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
  /** Reserved, null being told as its number. */
  coresMin: 'berth.cores.min',
  /** Not there for null. */
  coresMax: 'berth.cores.max',
} as const;

export const STOP_GRACE_SECONDS = 10;

/** Where the owner's workspace is mounted. */
export const WORKSPACE = '/workspace';

const PIDS_LIMIT = 4096;
/** The engine refuses a smaller soft limit. */
const MIN_RESERVATION_BYTES = 6 * 2 ** 20;
/** The kernel refuses a longer host name. */
const MAX_HOSTNAME_LENGTH = 63;

/**
 * Measured: this driver slows the writer less than the default one and keeps every byte, invalid UTF-8 included. The
 * file is never rotated, so that the agent's link to it is the whole output (README.md).
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
    // The words are arguments of the image's entry point where it has one, as with `docker run`.
    ...(command && command.length > 0 ? { Cmd: command } : {}),
    ...(workDir === null ? {} : { WorkingDir: workDir }),
    Env: environment(assignment, around),
    Labels: labels(assignment, around),
    StopTimeout: STOP_GRACE_SECONDS,
    ExposedPorts: Object.fromEntries(ports.map((port) => [port, {}])),
    HostConfig: {
      ...limits(assignment, around),
      NetworkMode: around.network,
      // An empty host port lets the engine pick one.
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

/** Of what the engine tells of itself. */
export interface CpuFacts {
  NCPU: number;
  CpuCfsPeriod: boolean;
  CpuCfsQuota: boolean;
}

/** The engine's limit, which it refuses above what it has; null where it can't limit: some kernels, many engines without root. */
export const nanoCpus = (cpuLimit: number, { NCPU, CpuCfsPeriod, CpuCfsQuota }: CpuFacts): number | null =>
  CpuCfsPeriod && CpuCfsQuota ? Math.round(1e9 * Math.min(cpuLimit, NCPU)) : null;

function limits(assignment: Assignment, around: Surroundings) {
  const { memoryMinBytes, memoryMaxBytes, shmBytes } = assignment;
  const memory = memoryMaxBytes ?? around.memoryBytes;
  const reservation = memoryMinBytes ?? 0;
  return {
    Memory: memory,
    // No swap beyond the limit: out of memory means out of memory.
    MemorySwap: memory,
    ...(reservation >= MIN_RESERVATION_BYTES ? { MemoryReservation: reservation } : {}),
    CpuShares: Math.max(2, Math.round(1024 * claimOf(assignment).min)),
    // Refused by an engine that can't limit cores, where of memory and processes it only warns.
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

/** A later entry of the same name wins. The workspace is told where this host has one. */
function environment({ environment }: Assignment, { mounts }: Surroundings): string[] {
  const hasWorkspace = mounts.some(({ Target }) => Target === WORKSPACE);
  const workspace = hasWorkspace ? { BERTH_WORKSPACE: WORKSPACE, ZOE_WORKSPACE: WORKSPACE } : {};
  const variables = new Map([...environment, ...Object.entries(workspace)]);
  return [...variables].map(([name, value]) => `${name}=${value}`);
}
