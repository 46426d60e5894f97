import { defineConfig } from 'vitest/config';

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
  'test/all/e2e/executions/logs.test.ts',
  'test/all/e2e/operation/attack.test.ts',
  'test/all/e2e/operation/queue-attack.test.ts',
  'test/all/e2e/operation/queue-attack-workerd.test.ts',
  'test/all/e2e/operation/standby.test.ts',
];
const LONG = { testTimeout: 90_000 };
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
      project('unit', SHARED),
      // A restart of wrangler alone takes 25 s on a slow machine.
      project('browser', {
        include: ['test/all/browser/**/*.test.ts'],
        ...before(ENGINE, PROGRAMS),
        ...oneByOne(1),
        ...SHARED,
        testTimeout: 180_000,
      }),
      project('api', { ...before(WORKER, PROGRAMS), ...inPairs(2), ...SHARED }),
      project('cli', { ...before(WORKER, PROGRAMS), ...inPairs(2), ...SHARED }),
      project('contract', { ...before(ENGINE, PROGRAMS), ...inPairs(3), ...SHARED }),
      project('engine', {
        ...{ ...before(ENGINE, PROGRAMS), ...inPairs(3), ...SHARED },
        include: ['test/all/engine/**/*.test.ts'],
      }),
      project('hosts', {
        ...{ ...before(WORKER, PROGRAMS), ...inPairs(3), ...SHARED },
        include: ['test/all/hosts/**/*.test.ts'],
      }),
      project('e2e', {
        include: ['test/all/{e2e,cluster,install}/**/*.test.ts'],
        ...{ ...before(ENGINE, PROGRAMS, RELEASE), ...inPairs(4), ...LONG },
        exclude: ALONE,
      }),
      project('simulation', { testTimeout: 300_000, maxConcurrency: 2, sequence: { groupOrder: 5 } }),
      // What heap, time or order is under load, without anything else that runs.
      project('measured', {
        include: ['test/all/measured/**/*.test.ts'],
        ...oneByOne(7),
        testTimeout: 300_000,
      }),
      project('e2e-alone', {
        ...{ ...before(ENGINE), ...oneByOne(6), ...LONG, env: SOURCES },
        include: ALONE,
      }),
    ],
  },
});
