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

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      // These tests share their modules, which are loaded once per worker and not once per file (TEST-3).
      project('unit', { isolate: false }),
      project('simulation', { testTimeout: 300_000, maxConcurrency: 2 }),
      project('contract', engine),
      // Two files at a time, since a starting host waits for half of its time.
      project('api', {
        ...bundles,
        isolate: false,
        maxWorkers: 2,
        testTimeout: 30_000,
        sequence: { groupOrder: 1 },
      }),
      project('browser', { ...engine, fileParallelism: false, testTimeout: 60_000, hookTimeout: 180_000 }),
      project('e2e', {
        ...engineAndRelease,
        fileParallelism: false,
        testTimeout: 90_000,
        hookTimeout: 180_000,
      }),
    ],
  },
});
