import { defineConfig } from 'vitest/config';

/** One project per kind of test, so that `npx vitest --project e2e` runs one kind alone. */
const project = (name: string, options: Record<string, unknown> = {}) => ({
  extends: true as const,
  test: { name, include: [`test/${name}/**/*.test.ts`], ...options },
});

/** Finds or starts the Docker engine and makes the test image before the first test. */
const engine = { globalSetup: 'test/support/hosts/engine-setup.ts' };
/** The same, and a place for the release that files share. */
const engineAndRelease = { globalSetup: [engine.globalSetup, 'test/support/releases/this-release.ts'] };

/** Builds the Worker, and the control plane on Node, before the first test. */
const bundles = {
  globalSetup: ['test/support/hosts/workerd/worker-bundle.ts', 'test/support/hosts/node-bundle.ts'],
};

/** Files of e2e/ that measure how fast something answers: one at a time, after the others (TEST-11). */
const ALONE = [
  'test/e2e/executions/logs.test.ts',
  'test/e2e/operation/attack.test.ts',
  'test/e2e/operation/queue-attack.test.ts',
  'test/e2e/operation/queue-attack-workerd.test.ts',
  'test/e2e/operation/standby.test.ts',
];
const LONG = { testTimeout: 90_000, hookTimeout: 180_000 };
/** The files share their modules, which are loaded once per worker and not once per file (TEST-3). */
const SHARED = { isolate: false };
/** Two files at a time, since most wait for half of their time; before all projects with a higher number. */
const inPairs = (groupOrder: number) => ({ maxWorkers: 2, sequence: { groupOrder } });
/** The same with one file at a time. */
const oneByOne = (groupOrder: number) => ({ fileParallelism: false, sequence: { groupOrder } });

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      project('unit', SHARED),
      project('browser', { ...engine, ...oneByOne(1), ...SHARED, testTimeout: 60_000, hookTimeout: 180_000 }),
      project('api', { ...bundles, ...inPairs(2), ...SHARED, testTimeout: 60_000 }),
      project('contract', { ...engine, ...inPairs(3), ...SHARED, testTimeout: 60_000, hookTimeout: 120_000 }),
      project('e2e', { ...engineAndRelease, ...inPairs(4), ...LONG, exclude: ALONE }),
      project('simulation', { testTimeout: 300_000, maxConcurrency: 2, sequence: { groupOrder: 5 } }),
      project('e2e-alone', { ...engine, ...oneByOne(6), ...LONG, include: ALONE }),
    ],
  },
});
