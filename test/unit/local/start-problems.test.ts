import { statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError, readNodeConfig } from '../../../control-plane/config.ts';
import { dataFolder, listenProblem } from '../../../control-plane/local/start-problems.ts';

test.each([
  ['BERTH_PORT', 'many', 'BERTH_PORT: must be a number'],
  ['BERTH_PORT', '65536', 'BERTH_PORT: must be at most 65535'],
  ['BERTH_LOCAL_AGENT', 'yes', 'BERTH_LOCAL_AGENT: must be "on" or "off"'],
])('H80: %s=%s is refused with a message', (name, value, words) => {
  expect(() => readNodeConfig({ [name]: value })).toThrow(words);
});

test('H80: a data folder that can not be created is reported with its setting, and a new one is for this user only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-start-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'file'), '');
  expect(() => dataFolder(join(folder, 'file'))).toThrow(ConfigError);
  expect(() => dataFolder(join(folder, 'file'), 'dev')).toThrow(/^BERTH_DATA_DIR: .*\/file\/dev/);
  expect(statSync(dataFolder(join(folder, 'new'), 'dev')).mode & 0o777).toBe(0o700);
});

test.each([
  ['EADDRINUSE', 'port 5001 is in use: stop what listens there, or set BERTH_PORT'],
  ['EACCES', 'port 5001 is reserved for privileged users: set BERTH_PORT to a port above 1023'],
  ['EADDRNOTAVAIL', 'BERTH_HOST: nowhere.example is not an address of this machine'],
  ['ENOTFOUND', 'BERTH_HOST: nowhere.example is not an address of this machine'],
])('H80: if the address can not be used (%s), the message names the setting to change', (code, words) => {
  const problem = listenProblem(Object.assign(new Error('listen'), { code }), 'nowhere.example', 5001);
  expect(problem).toBeInstanceOf(ConfigError);
  expect(problem.message).toBe(words);
});
