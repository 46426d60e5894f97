/**
 * Reads the containers' usage from the engine, with a bounded number of concurrent calls. Never computes with
 * it.
 */
import type Docker from 'dockerode';
import type { ContainerStats } from 'dockerode';
import { FairQueue } from '../../../shared/fair-queue.ts';
import { engineError, statusOf, wrapErrors } from '../docker-error.ts';
import { EngineError, type UsageSample } from '../engine.ts';

/**
 * Docker 20.10 answers all waiting calls at its next tick of one second, so many concurrent calls cost it no
 * more than sequential ones.
 */
const MAX_CONCURRENT_CALLS = 64;
/**
 * An older engine observes a container for one or two seconds before it answers. Docker supports `one-shot`
 * since 20.10.
 */
const MIN_API_VERSION = { major: 1, minor: 41 };

/** The client library accepts this option, but its types do not declare it. */
interface Abortable {
  version(options: { abortSignal: AbortSignal }): Promise<{ ApiVersion: string }>;
}

/** Throws EngineError if no sample could be read. A container whose sample is late is left out. */
export async function readUsage(
  docker: Docker,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, UsageSample>> {
  const { ApiVersion } = await wrapErrors((docker as unknown as Abortable).version({ abortSignal: signal }));
  if (!isSupported(ApiVersion)) {
    throw new EngineError(
      'permanent',
      `the engine's API ${ApiVersion} cannot measure usage at once: update the engine to API 1.41`,
    );
  }
  const lane = new FairQueue({ total: MAX_CONCURRENT_CALLS });
  const samples = new Map<string, UsageSample>();
  let failure: unknown;
  const readOne = async (id: string) => {
    try {
      signal.throwIfAborted();
      const sample = sampleOf(await statsOf(docker, id, signal));
      if (sample) samples.set(id, sample);
    } catch (error) {
      if (statusOf(error) !== 404) failure = error;
    }
  };
  await Promise.all(ids.map((id) => lane.run(() => readOne(id))));
  if (samples.size === 0 && failure !== undefined) throw engineError(failure);
  return samples;
}

/** Undefined for a container that is not running. Memory is the working set, as in `docker stats`. */
export function sampleOf({ read, cpu_stats, memory_stats }: ContainerStats): UsageSample | undefined {
  const timeMs = Date.parse(read);
  // For a container that is not running the engine writes the year 1 and no memory.
  if (!(timeMs > 0) || memory_stats.usage === undefined) return undefined;
  const { total_inactive_file, inactive_file = 0 } = memory_stats.stats as Partial<Record<string, number>>;
  const idle = total_inactive_file ?? inactive_file;
  const memoryBytes = Math.max(0, memory_stats.usage - idle);
  return { timeMs, cpuMs: cpu_stats.cpu_usage.total_usage / 1e6, memoryBytes };
}

function statsOf(docker: Docker, id: string, signal: AbortSignal): Promise<ContainerStats> {
  const options = { stream: false, 'one-shot': true, abortSignal: signal } as const;
  return docker.getContainer(id).stats(options);
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MIN_API_VERSION.major || (major === MIN_API_VERSION.major && minor >= MIN_API_VERSION.minor);
}
