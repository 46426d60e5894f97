/** Owns reading from the engine what containers use, a bounded number at once. Never computes with it. */
import type Docker from 'dockerode';
import type { ContainerStats } from 'dockerode';
import { EngineError, type UsageSample } from '../engine.ts';
import { Lane } from '../lane.ts';
import { engineError, statusOf, wrapErrors } from './docker-error.ts';

/**
 * Calls at once. Docker 20.10 answers all that wait at its next tick of a second, so many at once cost it no more than
 * one after the other.
 */
const MAX_CONCURRENT_CALLS = 64;
/** Older ones watch a container for a second or two before they answer: Docker has `one-shot` since 20.10. */
const MIN_API_VERSION = { major: 1, minor: 41 };

/** What the client library takes here, but its types do not tell. */
interface Abortable {
  version(options: { abortSignal: AbortSignal }): Promise<{ ApiVersion: string }>;
}

/** Throws EngineError where nothing is found out; a container that is not told of in time is left out. */
export async function readUsage(
  docker: Docker,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, UsageSample>> {
  const { ApiVersion } = await wrapErrors((docker as unknown as Abortable).version({ abortSignal: signal }));
  if (!isSupported(ApiVersion)) {
    throw new EngineError('permanent', `the engine's API ${ApiVersion} has no stats at once: update to 1.41`);
  }
  const lane = new Lane(MAX_CONCURRENT_CALLS);
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

/** Undefined of a container that does not run. Memory is the working set, as `docker stats` shows it. */
export function sampleOf({ read, cpu_stats, memory_stats }: ContainerStats): UsageSample | undefined {
  const timeMs = Date.parse(read);
  // The engine writes the year 1, and no memory, of what does not run.
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
