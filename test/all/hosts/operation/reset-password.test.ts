/** `npm run reset-password`, beside a control plane that runs. */
import { expect, onTestFinished, test } from 'vitest';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { sessionOf } from '../../../support/clients/web-client.ts';
import { addUser, enableUser } from '../../../support/fixtures/users.ts';
import { startNodeHost } from '../../../support/hosts/host-node.ts';
import { onHosts } from '../../../support/hosts/hosts.ts';
import { startProgram } from '../../../support/hosts/process.ts';
import { startSqld } from '../../../support/hosts/sqld.ts';

async function reset(env: Record<string, string>, ...args: string[]) {
  const program = startProgram(['control-plane/reset-password.ts', ...args], { env });
  return { code: await program.waitForEnd(), output: program.output };
}

const OLD = 'the old password';

onHosts([{ kind: 'node', variant: 'A' }], (hostOf) => {
  const envOf = () => ({ BERTH_DATA_DIR: hostOf().dataDir ?? '' });
  const anonymous = new HttpClient(() => hostOf().url());
  const as = (username: string, password: string) => anonymous.with(basic(username, password));
  const logIn = async (username: string, password: string) =>
    (await as(username, password).get('login')).status;

  test('H324: it prints a new password, which works at once, and the old one does not', async () => {
    await addUser(hostOf(), 'forgetful', OLD, 'user');
    expect(await logIn('forgetful', OLD)).toBe(200);
    const { code, output } = await reset(envOf(), 'forgetful');
    expect([code, output]).toEqual([0, expect.stringMatching(/^The new password of forgetful is \S{16} /)]);
    const [, password = ''] = /forgetful is (\S+)/.exec(output) ?? [];
    expect([await logIn('forgetful', password), await logIn('forgetful', OLD)]).toEqual([200, 401]);
  });

  test('H324, H489: it ends all sessions and tokens of the user, and of nobody else', async () => {
    await addUser(hostOf(), 'ended', OLD, 'user');
    await addUser(hostOf(), 'other', OLD, 'user');
    const clientsOf = async (username: string) => {
      const login = await as(username, OLD).get('login');
      const made = await as(username, OLD).post('/native/api/0.7/token', { name: 'ci', scopes: ['read'] });
      const { token } = made.json<{ token: string }>();
      const clients = [
        anonymous.with({ cookie: sessionOf(login) }),
        anonymous.with({ authorization: `Bearer ${token}` }),
      ];
      const pair = await as(username, OLD).post('oauth/token', { grant_type: 'password' });
      const { access_token } = pair.json<{ access_token: string }>();
      return [...clients, anonymous.with({ authorization: `Bearer ${access_token}` })];
    };
    const [ended, kept] = [await clientsOf('ended'), await clientsOf('other')];
    expect((await reset(envOf(), 'ended')).code).toBe(0);
    for (const client of ended) expect((await client.get('execution')).status).toBe(401);
    for (const client of kept) expect((await client.get('execution')).status).toBe(200);
  });

  test('H324: streams of events and later changes of the user work after a reset beside a control plane', async () => {
    await addUser(hostOf(), 'streams', OLD, 'user');
    const { output } = await reset(envOf(), 'streams', '--json');
    const { password } = JSON.parse(output);
    const stream = await as('streams', password).open('GET', 'events');
    expect(stream.statusCode).toBe(200);
    stream.destroy();
    await enableUser(hostOf(), 'streams', false);
    expect(await logIn('streams', password)).toBe(401);
  });

  test('H324: a disabled user stays disabled, and the output states it', async () => {
    await addUser(hostOf(), 'disabled', OLD, 'user');
    await enableUser(hostOf(), 'disabled', false);
    const { code, output } = await reset(envOf(), 'disabled', '--json');
    expect(code).toBe(0);
    const { username, password, obstacle } = JSON.parse(output);
    expect({ username, obstacle }).toEqual({ username: 'disabled', obstacle: 'the user is disabled' });
    expect(await logIn('disabled', password)).toBe(401);
    await enableUser(hostOf(), 'disabled', true);
    expect(await logIn('disabled', password)).toBe(200);
  });

  test('H324: an unknown user changes nothing, and the command ends with 1', async () => {
    const refused = { code: 1, output: 'There is no user nobody. Nothing was changed.\n' };
    expect(await reset(envOf(), 'nobody')).toEqual(refused);
    const asJson = await reset(envOf(), 'nobody', '--json');
    expect([asJson.code, JSON.parse(asJson.output)]).toEqual([1, { error: refused.output.trim() }]);
  });
});

test('H324: it works with a libSQL server, by the settings of npm start', async () => {
  const server = await startSqld();
  onTestFinished(() => server.stop());
  const env = { BERTH_DATABASE_URL: server.url };
  const host = await startNodeHost({ variant: 'B', deployment: 'test', adminPassword: OLD, env });
  onTestFinished(() => host.stop());
  const { output } = await reset(env, 'admin', '--json');
  const { password } = JSON.parse(output);
  const as = (one: string) => new HttpClient(() => host.url()).with(basic('admin', one)).get('login');
  expect([(await as(password)).status, (await as(OLD)).status]).toEqual([200, 401]);
});

test('H324: without a database or a name it explains itself and makes nothing', async () => {
  const env = { BERTH_DATA_DIR: '/nowhere/at/all' };
  const missing = await reset(env, 'admin');
  expect(missing.code).toBe(1);
  expect(missing.output).toBe('The database /nowhere/at/all/berth.db does not exist.\n');
  const unnamed = await reset(env);
  expect([unnamed.code, unnamed.output]).toEqual([1, expect.stringContaining('npm run reset-password NAME')]);
});
