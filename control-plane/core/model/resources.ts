/** Memory and cores: what hosts have, and what services require and reserve. Pure. */
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import { referencesIn } from '../../../shared/variables.ts';
import { jsonBytes } from './json-bytes.ts';

export interface Resources {
  memoryBytes: number;
  cores: number;
}

/** What a service requires of its host, where `memoryBytes` is the reservation, and what it may use there. */
export interface Requirement extends Resources {
  /** The memory limit of its container. Null: the default (`SchedulerConfig.defaultMemoryBytes`). */
  limitBytes: number | null;
  labels: readonly string[];
  /** What an instance counts under the bound on placed instances: the KiB of its texts, at least 1 (C173). */
  weight: number;
  /** True if it has files with secrets, which its host must mount (C342). Absent: it has none. */
  secretFiles?: boolean;
}

/**
 * Usage of a user under the quota, or what a start would add to it. Memory is the sum of the limits. Cores
 * are integers in millionths, because sums of fractions drift.
 */
export interface Usage {
  executions: number;
  memoryBytes: number;
  microCores: number;
}

/** Services with the same requirement, and how many there are. */
export interface Need extends Requirement {
  readonly count: number;
}

export interface ResourceDemand {
  /** Each distinct requirement once, the hardest to fit first. */
  readonly needs: readonly Need[];
  /** What the start reserves on hosts, in all. */
  readonly reserved: Resources;
  /** What the start adds to the usage of the user. */
  usage(defaultMemoryBytes: number): Usage;
  /** The weights of all services that the start places. */
  readonly weight: number;
  /** About what the needs take of the heap, in bytes, if no other execution has them. */
  readonly heapBytes: number;
}

/** The weights of all instances: about how many KiB the control plane sends to hosts to start them. */
export const weightOfServices = (requirements: Requirements): number =>
  [...requirements].reduce((sum, [{ total_count }, { weight }]) => sum + total_count * weight, 0);

/** What each definition of an application requires: made once for a submission, since texts may be long. */
export type Requirements = ReadonlyMap<ServiceDescription, Requirement>;

export const requirementsOf = (services: readonly ServiceDescription[]): Requirements =>
  new Map(services.map((definition) => [definition, requirementOf(definition)]));

/** What a definition requires: the minimum, or 0 memory and 0.1 cores. */
export const requirementOf = (definition: ServiceDescription): Requirement => {
  const { resources, labels, files = [] } = definition;
  return {
    memoryBytes: resources.memory.min ?? 0,
    limitBytes: ownLimitOf(resources.memory),
    cores: resources.cores.min ?? 0.1,
    labels: labels && labels.length > 0 ? labels : NO_LABELS,
    weight: Math.max(1, Math.ceil(assignmentBytes(definition) / 1024)),
    ...(files.length > 0 && { secretFiles: true }),
  };
};

const NO_LABELS: readonly never[] = [];

/** About how many bytes of JSON the assignment of an instance has, with every variable filled in. */
function assignmentBytes(definition: ServiceDescription): number {
  const texts = [definition.command ?? '', ...definition.environment.map(([, value]) => value)];
  return jsonBytes(definition) + VALUE_BYTES * referencesIn(texts);
}

/** What a reference adds to a text, about. */
const VALUE_BYTES = 64;

/** The memory that a service may use, which counts under the quota (C198). */
export const memoryLimitOf = (
  { limitBytes }: Pick<Requirement, 'limitBytes'>,
  defaultBytes: number,
): number => limitBytes ?? defaultBytes;

/** The engine refuses a lower memory limit. */
export const MIN_MEMORY_LIMIT = 6 * 2 ** 20;

/**
 * The maximum, else the minimum; null if neither can be a limit. A maximum of 0 is none: to the engine it
 * would mean no limit.
 */
function ownLimitOf({ min, max }: ServiceDescription['resources']['memory']): number | null {
  if (max !== null && max > 0) return max;
  return min !== null && min >= MIN_MEMORY_LIMIT ? min : null;
}
