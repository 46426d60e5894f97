/** Bounds of what logins leave in the database. */
import { beforeAll, expect, test } from 'vitest';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { sessionOf, WebClient } from '../../support/clients/web-client.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { allRows, type Host, hosts, onHostsWith, restart } from '../../support/hosts/hosts.ts';

const PASSWORD = 'a fair password';

/** The number of rows of each table. */
const countsIn = async (host: Host): Promise<Record<string, number>> =>
  Object.fromEntries(Object.entries(await allRows(host)).map(([table, rows]) => [table, rows.length]));

onHostsWith({ BERTH_LIMITS: JSON.stringify({ sessionsPerUser: 3 }) }, hosts, (host) => {
  const anonymous = new HttpClient(() => host().url());
  const alice = anonymous.with(basic('alice', PASSWORD));
  const statusOf = async (page: WebClient) => (await page.get('/account')).status;

  beforeAll(() => addUser(host(), 'alice', PASSWORD, 'user'));

  test('H328, H464: requests of strangers add rows of failed logins, and no others', async () => {
    const before = await countsIn(host());
    const wrong = [basic('alice', 'wrong'), basic('nobody', 'wrong'), { authorization: 'Bearer a.b.c' }];
    for (const headers of [{}, ...wrong, { cookie: 'berth_session=unknown' }])
      for (const [method, path] of [
        ['GET', 'login'],
        ['POST', 'execution'],
        ['POST', 'app_validate'],
        ['POST', 'user'],
        ['POST', '/agent/v1/register'],
        ['POST', '/login'],
        ['POST', '/logout'],
        ['GET', 'discovery/by_group/1/x'],
      ] as const)
        await anonymous.with(headers).send(method, path, method === 'POST' ? '{}' : undefined);
    const after = await countsIn(host());
    const others = { login_failures: 0, audit: 0 };
    expect({ ...after, ...others }).toEqual({ ...before, ...others });
    // One network has one entry a minute.
    expect((after.audit ?? 0) - (before.audit ?? 0)).toBeLessThanOrEqual(2);
    // Two names, one address: the pairs, the names and the address.
    expect((after.login_failures ?? 0) - (before.login_failures ?? 0)).toBeLessThanOrEqual(7);
  });

  test('H327: a user has no more sessions than the limit, and a program logs no browser out', async () => {
    const oldest = await WebClient.logIn(host, 'alice', PASSWORD);
    const [second, third] = [
      await WebClient.logIn(host, 'alice', PASSWORD),
      await WebClient.logIn(host, 'alice', PASSWORD),
    ];
    await restart(host());
    for (let n = 0; n < 3; n++) expect((await alice.get('login')).status).toBe(200);
    for (const page of [oldest, second, third]) expect(await statusOf(page)).toBe(200);
    const fourth = await WebClient.logIn(host, 'alice', PASSWORD);
    expect([await statusOf(oldest), await statusOf(second), await statusOf(fourth)]).toEqual([303, 200, 200]);
    const { sessions = 0 } = await countsIn(host());
    // At most three of alice, and those of the administrator.
    expect(sessions).toBeLessThanOrEqual(6);
  });

  const byCommandLine = async () => {
    const login = await anonymous.post('/login/command-line', { username: 'carol', password: PASSWORD });
    expect(login.status).toBe(204);
    return sessionOf(login);
  };
  const isOpen = async (cookie: string) => (await anonymous.with({ cookie }).get('execution')).status === 200;

  test('H751: a login by the command line is a session of its own, which ends beyond the limit, and by no other login or Basic request', async () => {
    await addUser(host(), 'carol', PASSWORD, 'user');
    const carol = anonymous.with(basic('carol', PASSWORD));
    const [one, other] = [await byCommandLine(), await byCommandLine()];
    expect(one).not.toBe(other);
    await restart(host());
    for (let n = 0; n < 3; n++) expect((await carol.get('login')).status).toBe(200);
    const form = await WebClient.logIn(host, 'carol', PASSWORD);
    expect([await isOpen(one), await isOpen(other), await statusOf(form)]).toEqual([true, true, 200]);
    expect((await anonymous.with({ cookie: one }).send('POST', '/logout')).status).toBe(303);
    expect([await isOpen(one), await isOpen(other), await statusOf(form)]).toEqual([false, true, 200]);
    expect((await carol.get('execution')).status).toBe(200);
    const logins: string[] = [];
    for (let n = 0; n < 4; n++) logins.push(await byCommandLine());
    expect([await statusOf(form), await isOpen(logins[3] ?? '')]).toEqual([200, true]);
    expect(await isOpen(logins[0] ?? '')).toBe(false);
  });

  test('H751: a wrong password of the command line is refused and throttled like any other', async () => {
    const wrong = await anonymous.post('/login/command-line', { username: 'nobody', password: 'wrong' });
    expect(wrong.status).toBe(401);
    expect(wrong.json()).toEqual({ code: 'unauthenticated', message: 'Wrong user name or password.' });
  });
});
