/** Measures the memory growth of processes over a period. Linux only. */
import { readFile } from 'node:fs/promises';

const SAMPLE_MS = 50;

export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/**
 * Samples the processes until `peaks` is called. `peaks` returns the largest growth of each process in bytes,
 * and throws if a process has ended.
 */
export async function watchMemory(...pids: number[]): Promise<{ peaks(): number[] }> {
  const startBytes = await Promise.all(pids.map(residentBytes));
  const growth = pids.map(() => 0);
  const sample = async () => {
    const now = await Promise.all(pids.map(residentBytes));
    now.forEach((bytes, at) => {
      growth[at] = Math.max(growth[at] ?? 0, bytes - (startBytes[at] ?? 0));
    });
  };
  let failure: unknown;
  const fail = (error: unknown) => {
    failure = error;
  };
  const timer = setInterval(() => void sample().catch(fail), SAMPLE_MS);
  return {
    peaks() {
      clearInterval(timer);
      if (failure) throw failure;
      return growth;
    },
  };
}
