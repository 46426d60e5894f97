/**
 * Usage arithmetic (P50): cores from the CPU time between two samples, and the sum over all running
 * containers. Pure.
 */
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import type { HostUsage, Observation } from '../../shared/protocol/up.ts';
import type { UsageSample } from '../engine/engine.ts';

/** A running container and its start. */
export interface RunningContainer extends ServiceKey {
  id: string;
  startedAtMs: number;
}

/** The latest sample of a container, and the cores it used up to that sample. */
export interface Reading extends UsageSample {
  cores: number;
}

/** Empty for a container that is not running. */
export const runningContainerOf = (seen: Observation): RunningContainer[] =>
  seen.state === 'running'
    ? [
        {
          id: seen.containerId,
          service: seen.service,
          generation: seen.generation,
          startedAtMs: seen.startedAtMs,
        },
      ]
    : [];

/** Keyed by container id. */
export type Readings = ReadonlyMap<string, Reading>;

/**
 * Each running container's usage since its previous sample, or since its start. A container without a new
 * sample counts with its previous usage. Containers that have ended are left out.
 */
export function nextReadings(
  running: readonly Pick<RunningContainer, 'id' | 'startedAtMs'>[],
  before: Readings,
  samples: ReadonlyMap<string, UsageSample>,
): Readings {
  const readings = new Map<string, Reading>();
  for (const { id, startedAtMs } of running) {
    const known = before.get(id);
    const sample = samples.get(id);
    const since = known ?? { timeMs: startedAtMs, cpuMs: 0, memoryBytes: 0, cores: 0 };
    const reading = sample ? { ...sample, cores: coresBetween(since, sample) } : known;
    if (reading) readings.set(id, reading);
  }
  return readings;
}

/** In whole bytes and thousandths of a core. `hostCores` caps the sum, which a clock step could inflate. */
export function totalOf(readings: Readings, hostCores: number): HostUsage {
  let memoryBytes = 0;
  let cores = 0;
  for (const reading of readings.values()) {
    memoryBytes += reading.memoryBytes;
    cores += reading.cores;
  }
  return { memoryBytes, cores: Math.round(Math.min(cores, hostCores) * 1000) / 1000 };
}

/** A counter below its previous value was reset, for example because a person restarted the container. */
function coresBetween(since: Reading, { timeMs, cpuMs }: UsageSample): number {
  const passedMs = timeMs - since.timeMs;
  // The clock was set back.
  if (passedMs <= 0) return since.cores;
  return (cpuMs < since.cpuMs ? cpuMs : cpuMs - since.cpuMs) / passedMs;
}
