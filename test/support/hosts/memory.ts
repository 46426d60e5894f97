/** Owns the measuring of how much memory processes need while something goes on. Linux only. */
import { readFile } from 'node:fs/promises';

const SAMPLE_MS = 50;

/** Resident memory of a process, in bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** Watches processes until `peaks` is called, which gives how far each has grown at most, in bytes; throws where one has ended. */
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
