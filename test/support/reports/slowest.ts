/** The test files that took longest, by vitest's JSON reports. Pure. */
import { relative } from 'node:path';

interface Report {
  testResults: { name: string; startTime: number; endTime: number }[];
}

/**
 * A line for each of the `count` files that took longest, the longest first: its seconds and its path below
 * `root`. The time is that from its first test to its last, so it lacks the loading of the file.
 */
export function slowestFiles(reports: readonly string[], count: number, root: string): string[] {
  const files = reports.flatMap((json) => (JSON.parse(json) as Report).testResults);
  const timed = files.map(({ name, startTime, endTime }) => ({ name, ms: endTime - startTime }));
  const slowest = timed.sort((a, b) => b.ms - a.ms).slice(0, count);
  return slowest.map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${relative(root, name)}`);
}
