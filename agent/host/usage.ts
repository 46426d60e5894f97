/**
 * Owns the arithmetic of what containers use (PROTOCOL.md P50): cores from the cpu time between two samples, and the sum
 * over all that run. Pure. Never asks the engine.
 */
import type { HostUsage, Observation } from '../../shared/protocol/up.ts';
import type { UsageSample } from '../engine/engine.ts';

/** A container that runs, and since when. */
export interface RunningContainer {
  id: string;
  startedAtMs: number;
}

/** The latest sample of a container, and the cores it used up to then. */
export interface Reading extends UsageSample {
  cores: number;
}

/** None of what does not run. */
export const runningContainerOf = (seen: Observation): RunningContainer[] =>
  seen.state === 'running' ? [{ id: seen.containerId, startedAtMs: seen.startedAtMs }] : [];

/** By id of container. */
export type Readings = ReadonlyMap<string, Reading>;

/**
 * Of each that runs, what it used since its sample before, or since its start. Whose sample is missing is taken to use
 * what it used before; what no longer runs is left out.
 */
export function nextReadings(
  running: readonly RunningContainer[],
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

/** In whole bytes and thousandths of a core; `hostCores`: no clock that was set makes it more. */
export function totalOf(readings: Readings, hostCores: number): HostUsage {
  let memoryBytes = 0;
  let cores = 0;
  for (const reading of readings.values()) {
    memoryBytes += reading.memoryBytes;
    cores += reading.cores;
  }
  return { memoryBytes, cores: Math.round(Math.min(cores, hostCores) * 1000) / 1000 };
}

/** A counter that is lower than before began anew, as with a container that was started again by hand. */
function coresBetween(since: Reading, { timeMs, cpuMs }: UsageSample): number {
  const passedMs = timeMs - since.timeMs;
  // The clock was set back.
  if (passedMs <= 0) return since.cores;
  return (cpuMs < since.cpuMs ? cpuMs : cpuMs - since.cpuMs) / passedMs;
}
