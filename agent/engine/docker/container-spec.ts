/** The container contract: maps an assignment to the engine's create options. Pure. */
import type { ContainerCreateOptions, MountSettings } from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { USUAL_CAPABILITIES } from '../capabilities.ts';
import { claimOf } from '../cpu-allocation.ts';
import type { MountedFile, Start } from '../engine.ts';
import { workspaceOf } from '../folders/allowed-folders.ts';
import { label } from '../labels.ts';
import type { ContainerSettings } from './container-settings.ts';

/** Facts about the host and the engine that the contract needs besides the assignment. */
export interface Surroundings extends ContainerSettings {
  deployment: string;
  /** Name of this host. */
  host: string;
  /** Id or name of the network to join. */
  network: string;
  /** Name of the overlay network to join as well. */
  overlay?: string | undefined;
  mounts: MountSettings[];
  /** `uid` or `uid:gid`. Undefined: the image's own. */
  user?: string | undefined;
  /** Memory limit of a container that has none of its own. */
  memoryBytes: number;
  /** The CPU limit at the start (`nanoCpus`). */
  nanoCpus: number | null;
  init: boolean;
  /** Ports of the host for the ports that are published, in their order. Absent: the engine picks them. */
  hostPorts?: readonly number[] | undefined;
  /**
   * Size from which the engine discards the oldest output by itself. Null: it never does, because the agent
   * limits the engine's own file.
   */
  rotatedLogBytes: number | null;
  /** What the owner should know of this container: a sentence for the top of its log. */
  remark?: string | undefined;
}

export const STOP_GRACE_SECONDS = 10;

const PIDS_LIMIT = 4096;
/** The engine refuses a smaller soft limit. */
const MIN_RESERVATION_BYTES = 6 * 2 ** 20;
/** The lowest and the highest weight that the kernel accepts. */
const CPU_SHARES = { min: 2, max: 2 ** 18 };
/** The kernel refuses a longer host name. */
const MAX_HOSTNAME_LENGTH = 63;

/**
 * Measured: the driver `local` slows the writer less than the default driver and keeps every byte, including
 * invalid UTF-8. The engine does not rotate a file that the agent can reach, so the agent's hard link to it
 * is the stored output (LOG-1, LOG-2).
 */
const logConfig = (rotatedBytes: number | null) => ({
  Type: 'local',
  Config:
    rotatedBytes === null
      ? { 'max-size': '8000g', 'max-file': '1', compress: 'false' }
      : { 'max-size': String(Math.ceil(rotatedBytes / 2)), 'max-file': '2', compress: 'false' },
});

/** The engine's default, which a list of one's own replaces. */
const USUAL_READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/**
 * The engine reads these files into its memory when the container joins another network. A container that
 * extends one of them to 4 TB would thereby end the engine (CONT-71).
 */
const ETC_FILES = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];

export function containerOptions(assignment: Start, around: Surroundings): ContainerCreateOptions {
  const { name, image, command, workDir } = assignment;
  const nameOf = ({ port, protocol }: Start['ports'][number]) => `${port}/${protocol}`;
  const published = publishedPorts(assignment).map(nameOf);
  return {
    name,
    Hostname: name.slice(0, MAX_HOSTNAME_LENGTH).replace(/[-.]+$/, ''),
    Image: image,
    // The words are arguments of the image's entry point, if it has one, as with `docker run`.
    ...(command && command.length > 0 ? { Cmd: command } : {}),
    ...(workDir === null ? {} : { WorkingDir: workDir }),
    ...(around.user === undefined ? {} : { User: around.user }),
    Env: environment(assignment, around),
    Labels: labels(assignment, around),
    // Each run costs the engine more than the container, whose limits do not count it (P151). The agent runs
    // the checks that the description has, a few at once (P212).
    Healthcheck: { Test: ['NONE'] },
    StopTimeout: STOP_GRACE_SECONDS,
    ExposedPorts: Object.fromEntries(assignment.ports.map((port) => [nameOf(port), {}])),
    HostConfig: {
      ...limits(assignment, around),
      NetworkMode: around.network,
      // With an empty host port the engine picks a free port.
      PortBindings: Object.fromEntries(
        published.map((port, at) => [
          port,
          [{ HostIp: around.bind ?? '', HostPort: String(around.hostPorts?.[at] ?? '') }],
        ]),
      ),
      Mounts: [...around.mounts, ...(assignment.files ?? []).map(fileMount)],
      Init: around.init,
      Privileged: false,
      CapDrop: ['ALL'],
      CapAdd: [...USUAL_CAPABILITIES, ...around.capabilities],
      SecurityOpt: ['no-new-privileges'],
      ...(around.etcFiles === 'writable' ? {} : { ReadonlyPaths: [...USUAL_READONLY_PATHS, ...ETC_FILES] }),
      RestartPolicy: { Name: 'no' },
      LogConfig: logConfig(around.rotatedLogBytes),
    },
    NetworkingConfig: { EndpointsConfig: { [around.network]: { Aliases: [name] } } },
  };
}

export const publishedPorts = ({ ports }: Assignment): Assignment['ports'] =>
  ports.filter(({ publish }) => publish !== false);

const fileMount = ({ source, target }: MountedFile): MountSettings => ({
  Type: 'bind',
  Source: source,
  Target: target,
  ReadOnly: true,
});

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
  OSType: string;
  Architecture: string;
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
  const reservation = memoryMinBytes ?? 0;
  // To the engine 0 means no limit. No container gets more than the host offers, or than it reserves.
  const memory = Math.max(reservation, Math.min(memoryMaxBytes || around.memoryBytes, around.memoryBytes));
  return {
    Memory: memory,
    // Swap is off: a container at its memory limit is out of memory.
    MemorySwap: memory,
    ...(reservation >= MIN_RESERVATION_BYTES ? { MemoryReservation: reservation } : {}),
    CpuShares: cpuShares(claimOf(assignment).min),
    // An engine that cannot limit CPU refuses NanoCpus. For unsupported limits of memory and processes it
    // only warns.
    ...(around.nanoCpus === null ? {} : { NanoCpus: around.nanoCpus }),
    PidsLimit: PIDS_LIMIT,
    ...(shmBytes === null ? {} : { ShmSize: shmBytes }),
  };
}

const cpuShares = (cores: number): number =>
  Math.min(CPU_SHARES.max, Math.max(CPU_SHARES.min, Math.round(1024 * cores)));

function labels(
  assignment: Assignment,
  { deployment, host, overlay, remark = '' }: Surroundings,
): Record<string, string> {
  const { min, max } = claimOf(assignment);
  return {
    ...assignment.labels,
    [label.deployment]: deployment,
    [label.host]: host,
    [label.execution]: String(assignment.execution),
    [label.service]: String(assignment.service),
    [label.generation]: String(assignment.generation),
    // Always set, since an image may have a label of this name.
    [label.idProof]: assignment.idProof,
    [label.owner]: assignment.owner,
    [label.remark]: remark,
    [label.health]: assignment.health ? JSON.stringify(assignment.health) : '',
    ...(overlay === undefined ? {} : { [label.overlay]: overlay }),
    [label.coresMin]: String(min),
    ...(max === null ? {} : { [label.coresMax]: String(max) }),
  };
}

/**
 * A later variable of the same name wins. The workspace variables are set only if the workspace is mounted.
 */
function environment(assignment: Assignment, { mounts }: Surroundings): string[] {
  const place = workspaceOf(assignment);
  const hasWorkspace = mounts.some(({ Target }) => Target === place);
  const workspace = hasWorkspace ? { BERTH_WORKSPACE: place, ZOE_WORKSPACE: place } : {};
  const variables = new Map([...assignment.environment, ...Object.entries(workspace)]);
  return [...variables].map(([name, value]) => `${name}=${value}`);
}
