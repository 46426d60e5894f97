/** The key of secrets where the settings have none. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../../control-plane/config.ts';
import { secretKeysOf } from '../../../control-plane/local/secret-key.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { type Host, startHost } from '../../support/hosts/hosts.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

async function started(kind: 'node' | 'workerd'): Promise<Host> {
  const host = await startHost({ kind, variant: 'B' });
  onTestFinished(() => host.stop());
  return host;
}

test('H779: with the embedded database secrets can be set at once, and are read after a restart', async () => {
  const host = await started('node');
  const { http } = new ApiClient(() => host);
  const set = await http.post('secret', { name: 'PASSWORD', value: 'words' });
  expect(set.status, set.text).toBe(200);
  const file = join(host.dataDir ?? '', 'secret-key');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const key = await readFile(file, 'utf8');
  await host.crash();
  await host.start();
  expect(await readFile(file, 'utf8')).toBe(key);
  const encrypted = await http.post('secret/encrypt', {});
  expect(encrypted.json()).toMatchObject({ unreadable: 0 });
  const { text } = await (await WebClient.logIn(() => host)).get('/account/secrets');
  expect(text).toContain('name="secret_value"');
});

test('H581: without a key the page has no form whose value would be lost, and says what an operator sets', async () => {
  const host = await started('workerd');
  const { text } = await (await WebClient.logIn(() => host)).get('/account/secrets');
  expect(text).toContain('BERTH_SECRET_KEYS is not set');
  for (const name of ['secret_value', 'file_value', 'registry_password']) expect(text).not.toContain(name);
});

test('H779: keys of the settings precede that of the folder, which stays', async () => {
  const folder = await testFolder();
  const key = Buffer.alloc(32, 1).toString('base64');
  expect(secretKeysOf([key], folder)).toEqual([key]);
  const [made = ''] = secretKeysOf([], folder);
  expect(secretKeysOf([], folder)).toEqual([made]);
  expect(secretKeysOf([key], folder)).toEqual([key, made]);
  expect(secretKeysOf([made], folder)).toEqual([made]);
});

test('H779: a file without a key stops the start', async () => {
  const folder = await testFolder();
  await writeFile(join(folder, 'secret-key'), '');
  expect(() => secretKeysOf([], folder)).toThrow(ConfigError);
});
