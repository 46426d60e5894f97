/** Bounds of what logins leave in the database. */
import { beforeAll, expect, test } from 'vitest';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { sessionOf, WebClient } from '../../support/clients/web-client.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { type Host, hosts, onHosts, restart } from '../../support/hosts/hosts.ts';

const PASSWORD = 'a fair password';

/** The number of rows of each table. */
async function rowsOf(host: Host): Promise<Record<string, number>> {
  const db = await host.openDb();
  const tables = await db.query(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%sqlite%'",
  );
  const counts: [string, number][] = [];
  for (const { name } of tables) {
    const [row] = await db.query(`SELECT count(*) AS many FROM "${name}"`);
    counts.push([String(name), Number(row?.many)]);
  }
  await db.close();
  return Object.fromEntries(counts);
}

onHosts(
  hosts,
  (host) => {
    const anonymous = new HttpClient(() => host().url());
    const alice = anonymous.with(basic('alice', PASSWORD));
    const statusOf = async (page: WebClient) => (await page.get('/account')).status;

    beforeAll(() => addUser(host(), 'alice', PASSWORD, 'user'));

    test('H328, H464: requests of strangers add rows of failed logins, and no others', async () => {
      const before = await rowsOf(host());
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
      const after = await rowsOf(host());
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
      expect([await statusOf(oldest), await statusOf(second), await statusOf(fourth)]).toEqual([
        303, 200, 200,
      ]);
      const { sessions = 0 } = await rowsOf(host());
      // At most three of alice, and those of the administrator.
      expect(sessions).toBeLessThanOrEqual(6);
    });

    test('H327: the cookie of Basic credentials works beside logins by the form', async () => {
      await addUser(host(), 'bob', PASSWORD, 'user');
      const cookie = sessionOf(await anonymous.with(basic('bob', PASSWORD)).get('login'));
      await WebClient.logIn(host, 'bob', PASSWORD);
      expect((await anonymous.with({ cookie }).get('execution')).status).toBe(200);
    });
  },
  { BERTH_MAX_SESSIONS_PER_USER: '3' },
);
