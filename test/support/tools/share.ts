/**
 * The share of the long tests that a run has: all of them, or a half or a third where all would take more
 * than half an hour (TEST-22).
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

export interface Share {
  /** From 1 on. */
  part: number;
  parts: number;
}

const LONG_PROJECTS = ['api', 'browser', 'contract', 'e2e'];
/** Files that take longest, some minutes each: dealt out first, so that all parts take about as long. */
const LONGEST = [
  'test/e2e/operation/server-install.test.ts',
  'test/e2e/agents/install.test.ts',
  'test/contract/networks/many-containers.test.ts',
  'test/contract/host-folders.test.ts',
  'test/e2e/cluster/swarm-networks.test.ts',
  'test/e2e/operation/chaos.test.ts',
  'test/contract/networks/user-networks.test.ts',
  'test/e2e/operation/package.test.ts',
  'test/e2e/operation/attack.test.ts',
  'test/e2e/agents/host-folders.test.ts',
  'test/e2e/operation/standby.test.ts',
  'test/e2e/cluster/cluster-faults.test.ts',
  'test/browser/pages.test.ts',
  'test/browser/logs.test.ts',
];
/** On a machine that starts Node within this time, all tests take less than half an hour. */
const QUICK_START_MS = 60;
const MAX_PARTS = 3;
const STARTS = 15;

/** `TEST_SHARE`, such as `1/2`. All tests if it is absent. Throws if it is something else. */
export function readShare(text: string | undefined): Share {
  const [, part, parts] = /^([1-9])\/([1-9])$/.exec(text || '1/1') ?? [];
  if (part === undefined || Number(part) > Number(parts))
    throw new Error(
      `TEST_SHARE=${text} is not a share. Set it to 1/2 or 2/2, to a third, or to auto in npm test.`,
    );
  return { part: Number(part), parts: Number(parts) };
}

/** For `TEST_SHARE=auto`: a slow machine gets the part whose turn it is by the commit, a half or a third. */
export function chooseShare(startMs: number, commit: string): Share {
  const parts = Math.min(Math.ceil(startMs / QUICK_START_MS), MAX_PARTS);
  return { part: 1 + (Number.parseInt(commit.slice(-4), 16) % parts), parts };
}

/** How long a start of Node takes on this machine, at the median. */
export function measureStartMs(): number {
  const times = Array.from({ length: STARTS }, () => {
    const beganMs = performance.now();
    spawnSync(process.execPath, ['-e', '0']);
    return performance.now() - beganMs;
  }).sort((a, b) => a - b);
  return times[STARTS >> 1] ?? Number.POSITIVE_INFINITY;
}

/** The files of the long projects that are in other shares. Every file is in exactly one. */
export function longFilesElsewhere(share: string | undefined): string[] {
  const { part, parts } = readShare(share);
  const files = LONG_PROJECTS.flatMap((project) => globSync(`test/${project}/**/*.test.ts`));
  const others = files.filter((file) => !LONGEST.includes(file)).sort();
  return [...LONGEST, ...others].filter((_, at) => at % parts !== part - 1);
}
