import { defineConfig } from 'vitest/config';

/** A project for each kind of test: first those of `npm test`, then those of `npm run test:all` alone. */
const project = (name: string, folder: string | string[], options: Record<string, unknown> = {}) => ({
  extends: true as const,
  test: { name, include: [folder].flat().map((path) => `${path}/**/*.test.ts`), ...options },
});

/** Set-up before the first test: finds or starts the engine, bundles programs and the Worker. */
const ENGINE = 'test/support/hosts/engine-setup.ts';
const PROGRAMS = 'test/support/hosts/program-bundles.ts';
const WORKER = 'test/support/hosts/workerd/worker-bundle.ts';
const RELEASE = 'test/support/releases/this-release.ts';

/** The files share their modules, which are loaded once per worker and not once per file (TEST-3). */
const SHARED = { isolate: false };
/** One file at a time: those that measure, or that need a browser or the whole machine. */
const oneByOne = (groupOrder: number) => ({ fileParallelism: false, sequence: { groupOrder } });
const inPairs = (groupOrder: number) => ({ maxWorkers: 2, sequence: { groupOrder } });
/** Control planes are processes of Node and workerd, and not objects in the process of the tests. */
const REAL = { env: { BERTH_TEST_HOSTS: 'real' } };
/** Programs run from their sources, as users start them, even where another project has made bundles. */
const SOURCES = { env: { ...REAL.env, BERTH_TEST_PROGRAMS: '' } };

export default defineConfig({
  test: {
    // Only what hangs reaches these.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    projects: [
      project('unit', 'test/unit', { ...SHARED, ...inPairs(1) }),
      project('api', 'test/api', { ...SHARED, ...inPairs(1) }),
      project('cli', 'test/cli', { ...SHARED, ...inPairs(1) }),
      project('simulation', 'test/simulation', { testTimeout: 900_000, maxConcurrency: 2, ...inPairs(2) }),
      project('contract', 'test/contract/{database,store,shop}', { ...SHARED, ...inPairs(1) }),
      project('contract-engine', 'test/contract/engine', { globalSetup: ENGINE, ...SHARED, ...inPairs(1) }),
      project('smoke', 'test/smoke', { globalSetup: [ENGINE, PROGRAMS], ...SHARED, ...inPairs(1) }),
      // Only in test:all.
      project('hosts', ['test/api', 'test/cli', 'test/all/hosts'], {
        ...{ globalSetup: [WORKER, PROGRAMS], ...SHARED, ...REAL, ...inPairs(3) },
      }),
      project('engine', 'test/all/engine', { globalSetup: [ENGINE, PROGRAMS], ...SHARED, ...inPairs(3) }),
      project('e2e', 'test/all/e2e', { ...REAL, globalSetup: [ENGINE, PROGRAMS], ...SHARED, ...inPairs(4) }),
      project('cluster', 'test/all/cluster', { ...REAL, globalSetup: [ENGINE, PROGRAMS], ...inPairs(4) }),
      project('install', 'test/all/install', {
        ...REAL,
        globalSetup: [ENGINE, PROGRAMS, RELEASE],
        ...inPairs(4),
      }),
      // One file at a time, without anything else that runs.
      project('measured', 'test/all/measured', { testTimeout: 300_000, ...oneByOne(6) }),
      project('load', 'test/all/load', {
        globalSetup: ENGINE,
        testTimeout: 300_000,
        ...SOURCES,
        ...oneByOne(7),
      }),
      project('browser', 'test/all/browser', {
        ...REAL,
        globalSetup: [ENGINE, PROGRAMS],
        ...SHARED,
        ...oneByOne(5),
      }),
    ],
  },
});
