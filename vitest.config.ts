import { defineConfig } from 'vitest/config';
import { longFilesElsewhere } from './test/support/tools/share.ts';

/** One project per kind of test, so that `npx vitest --project e2e` runs one kind alone. */
const project = (name: string, options: Record<string, unknown> = {}) => ({
  extends: true as const,
  test: { name, include: [`test/${name}/**/*.test.ts`], ...options },
});

/** Finds or starts the Docker engine and makes the test image. */
const ENGINE = 'test/support/hosts/engine-setup.ts';
/** Bundles the programs that tests start. */
const PROGRAMS = 'test/support/hosts/program-bundles.ts';
/** Bundles the Worker. */
const WORKER = 'test/support/hosts/workerd/worker-bundle.ts';
/** A place for the release that files share. */
const RELEASE = 'test/support/releases/this-release.ts';

/** Programs run from their sources, as users start them, even where another project has made bundles. */
const SOURCES = { BERTH_TEST_PROGRAMS: '' };

/** Set-up before the first test. */
const before = (...globalSetup: string[]) => ({ globalSetup });

/** Files of e2e/ that measure how fast something answers: one at a time, after the others (TEST-11). */
const ALONE = [
  'test/e2e/executions/logs.test.ts',
  'test/e2e/operation/attack.test.ts',
  'test/e2e/operation/queue-attack.test.ts',
  'test/e2e/operation/queue-attack-workerd.test.ts',
  'test/e2e/operation/standby.test.ts',
];
const LONG = { testTimeout: 90_000 };
/** Files of the long projects that this run leaves to another one (TEST-22). */
const exclude = longFilesElsewhere(process.env.TEST_SHARE);
/** The files share their modules, which are loaded once per worker and not once per file (TEST-3). */
const SHARED = { isolate: false };
/** Two files at a time, since most wait for half of their time; before all projects with a higher number. */
const inPairs = (groupOrder: number) => ({ maxWorkers: 2, sequence: { groupOrder } });
/** The same with one file at a time. */
const oneByOne = (groupOrder: number) => ({ fileParallelism: false, sequence: { groupOrder } });

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 180_000,
    projects: [
      project('unit', { ...SHARED, testTimeout: 20_000 }),
      // A restart of wrangler alone takes 25 s on a slow machine.
      project('browser', {
        ...before(ENGINE, PROGRAMS),
        ...oneByOne(1),
        ...SHARED,
        exclude,
        testTimeout: 180_000,
      }),
      project('api', { ...before(WORKER, PROGRAMS), ...inPairs(2), ...SHARED, exclude }),
      project('contract', { ...before(ENGINE, PROGRAMS), ...inPairs(3), ...SHARED, exclude }),
      project('e2e', {
        ...{ ...before(ENGINE, PROGRAMS, RELEASE), ...inPairs(4), ...LONG },
        exclude: [...ALONE, ...exclude],
      }),
      project('simulation', { testTimeout: 300_000, maxConcurrency: 2, sequence: { groupOrder: 5 } }),
      project('e2e-alone', {
        ...{ ...before(ENGINE), ...oneByOne(6), ...LONG, env: SOURCES },
        include: ALONE,
        exclude,
      }),
    ],
  },
});
