/** How fast this machine is, and what a run has cost it. */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';

const STARTS = 15;
const TICKS_PER_SECOND = 100;

/** The median time in ms that a start of Node takes. */
export function measureStartMs(): number {
  const times = Array.from({ length: STARTS }, () => {
    const beganMs = performance.now();
    spawnSync(process.execPath, ['-e', '0']);
    return performance.now() - beganMs;
  }).sort((a, b) => a - b);
  return times[STARTS >> 1] ?? 0;
}

/** Seconds of processor time of this process and of its children that have ended. Undefined but on Linux. */
export async function processorSeconds(): Promise<number | undefined> {
  const stat = await readFile('/proc/self/stat', 'utf8').catch(() => undefined);
  // After the name of the program, which may have spaces, comes field 3; times are the fields 14 to 17.
  const times = stat
    ?.slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15);
  return times && times.reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}
