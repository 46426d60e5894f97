/** The first start on an empty database, and its password. */
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { sourcePath, startProgram } from '../../../support/hosts/process.ts';
import { serving } from '../../../support/tools/serving.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

/** Returns how to start control planes on one new folder. */
async function starter() {
  const folder = await testFolder();
  return (settings: Record<string, string>) => {
    const env = { BERTH_PORT: '0', BERTH_DATA_DIR: folder, BERTH_LOCAL_AGENT: 'off', ...settings };
    const program = startProgram([sourcePath('control-plane/node.ts')], { env });
    onTestFinished(() => program.kill());
    return program;
  };
}

test('H323: a start that finds its port in use makes no password, and the next start prints one that works', async () => {
  const start = await starter();
  const port = await serving(createServer());
  const failed = start({ BERTH_PORT: String(port) });
  expect(await failed.waitForEnd()).toBe(1);
  expect(failed.output).toContain(`port ${port} is in use`);
  expect(failed.output).not.toContain('First start');

  const started = start({});
  const [, url = ''] = await started.waitFor(/listens on (\S+)/);
  const [, password = ''] = await started.waitFor(/the password (\S+) \(shown only now\)/);
  const client = new HttpClient(() => url).with(basic('admin', password));
  expect((await client.get('login')).status).toBe(200);
});

test.each([
  [{}, /http:\/\/127\.0\.0\.1:\d+/],
  [{ BERTH_HOST: '0.0.0.0' }, /http:\/\/127\.0\.0\.1:\d+/],
  [{ BERTH_HOST: '::' }, /http:\/\/\[::1\]:\d+/],
  [{ BERTH_PUBLIC_URL: 'https://berth.example.org' }, /https:\/\/berth\.example\.org/],
])(
  'H777: with %o, the password is set off, with the address to open and the line to log in by',
  async (settings, address) => {
    const start = await starter();
    const program = start(settings);
    const line = await program.waitFor(/berth login (\S+) --user admin\n/);
    expect(line[1]).toMatch(new RegExp(`^${address.source}$`));
    const block =
      /\n\nFirst start: the administrator is admin, the password \S+ \(shown only now\)\.\n(.*\n){2}\n/;
    expect(program.output).toMatch(block);
    expect(program.output).toContain(`in a browser:           ${line[1]}\n`);
  },
);

test('H322: a BERTH_ADMIN_PASSWORD that breaks the rules stops the first start, and the next one may have another', async () => {
  const start = await starter();
  for (const password of ['too short', 'tiny-one']) {
    const failed = start({ BERTH_ADMIN_PASSWORD: password });
    expect(await failed.waitForEnd()).toBe(1);
    expect(failed.output).toContain('BERTH_ADMIN_PASSWORD: must have at least 10 characters');
    expect(failed.output).not.toContain(password);
  }
  await start({ BERTH_ADMIN_PASSWORD: 'long enough' }).waitFor(/listens on/);
});

test('H322: a short BERTH_ADMIN_PASSWORD does not stop a start on a database that has users', async () => {
  const start = await starter();
  const first = start({ BERTH_ADMIN_PASSWORD: 'long enough' });
  await first.waitFor(/listens on/);
  await first.kill();
  await start({ BERTH_ADMIN_PASSWORD: 'short' }).waitFor(/listens on/);
});

test('H322: the random password has at least as many characters as the minimum', async () => {
  const start = await starter();
  const program = start({ BERTH_LIMITS: JSON.stringify({ minPasswordLength: 50 }) });
  await program.waitFor(/the password \S{50,} \(shown only now\)/);
});
