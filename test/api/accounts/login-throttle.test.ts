import { beforeAll, expect, test } from 'vitest';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { addUser, failLogins, passLoginDelays } from '../../support/fixtures/users.ts';
import { hosts, onHosts, onHostsWith } from '../../support/hosts/hosts.ts';

/** Failures of a name from one address that cause no delay. */
const FREE = 10;
/** Logins whose hashes are calculated at the same time. */
const AT_ONCE = 2;

onHostsWith({ BERTH_TRUST_PROXY: 'on' }, hosts, (host, { kind }) => {
  const header = kind === 'workerd' ? 'cf-connecting-ip' : 'x-forwarded-for';
  /** A client with these credentials at this address. */
  const from = (address: string, username: string, password: string) =>
    new HttpClient(() => host().url(), { ...basic(username, password), [header]: address });
  const logIn = (client: HttpClient): Promise<Reply> => client.get('login');
  const fail = (address: string, username: string) => failLogins(host(), address, username, FREE);
  const statusOf = async (client: HttpClient) => (await logIn(client)).status;

  beforeAll(async () => {
    for (const name of ['alice', 'bob', 'carol', 'erin', 'frank'])
      await addUser(host(), name, 'secret words', 'user');
  });

  test('H130: after ten failures a login is 429 with the time of the next try, even with the right password', async () => {
    for (let n = 0; n < FREE; n++) expect(await statusOf(from('192.0.2.1', 'alice', `wrong ${n}`))).toBe(401);
    for (const password of ['wrong', 'secret words']) {
      const { status, headers, json } = await logIn(from('192.0.2.1', 'alice', password));
      const seconds = Number(headers['retry-after']);
      expect(status).toBe(429);
      expect(headers['www-authenticate']).toBeUndefined();
      expect(headers['set-cookie']).toBeUndefined();
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds).toBeLessThanOrEqual(30);
      expect(json()).toEqual({
        code: 'too-many',
        message: `Too many failed logins; try again in ${seconds} s.`,
      });
    }
    await passLoginDelays(host());
    expect(await statusOf(from('192.0.2.1', 'alice', 'wrong'))).toBe(401);
    expect(await statusOf(from('192.0.2.1', 'alice', 'secret words'))).toBe(429);
    await passLoginDelays(host());
    expect(await statusOf(from('192.0.2.1', 'alice', 'secret words'))).toBe(200);
  });

  test("H130: an unknown name gets the same answers as a user's", async () => {
    const texts = async (username: string) => {
      await failLogins(host(), '192.0.2.2', username, FREE - 2);
      const replies: Reply[] = [];
      for (let n = 0; n < 4; n++) replies.push(await logIn(from('192.0.2.2', username, 'wrong')));
      return replies.map(({ status, reason, text }) =>
        `${status} ${reason} ${text}`.replace(/\d+ s/g, 'some s'),
      );
    };
    expect(await texts('nobody')).toEqual(await texts('bob'));
  });

  test('H130: the counts of failures hold across a crash', async () => {
    await fail('192.0.2.3', 'carol');
    await host().crash();
    await host().start();
    expect(await statusOf(from('192.0.2.3', 'carol', 'secret words'))).toBe(429);
  });

  test('H131: sessions and remembered credentials are not throttled', async () => {
    const login = await logIn(from('192.0.2.6', 'erin', 'secret words'));
    await fail('192.0.2.6', 'erin');
    expect(await statusOf(from('192.0.2.6', 'erin', 'wrong'))).toBe(429);
    expect(await statusOf(from('192.0.2.6', 'erin', 'secret words'))).toBe(200);
    const cookie = login.headers['set-cookie']?.[0] ?? '';
    expect(await statusOf(new HttpClient(() => host().url(), { cookie }))).toBe(200);
  });

  test('H133: simultaneous guesses are counted like successive ones', async () => {
    const guesses = Array.from({ length: 60 }, (_, n) => statusOf(from('192.0.2.7', 'frank', `guess ${n}`)));
    const statuses = await Promise.all(guesses);
    const tried = statuses.filter((status) => status === 401).length;
    expect(tried).toBeGreaterThanOrEqual(FREE);
    expect(tried).toBeLessThan(FREE + AT_ONCE);
    expect(statuses.filter((status) => status === 429)).toHaveLength(60 - tried);
  });

  test('H133: clients that leave while they wait take no place from others', async () => {
    const leave = new AbortController();
    const headers = (n: number) => ({ ...basic(`user ${n}`, 'wrong'), [header]: '192.0.2.9' });
    const waiting = Array.from({ length: 8 }, (_, n) =>
      fetch(`${host().url()}/api/0.7/login`, { headers: headers(n), signal: leave.signal }).catch(
        () => undefined,
      ),
    );
    await Promise.race(waiting);
    leave.abort();
    await Promise.all(waiting);
    expect(await statusOf(from('192.0.2.10', 'erin', 'secret words'))).toBe(200);
  });
});

onHosts([{ kind: 'node', variant: 'B' }], (host) => {
  test('H132: without a trusted proxy, X-Forwarded-For is ignored', async () => {
    await failLogins(host(), '127.0.0.1', 'nobody', FREE);
    const headers = { ...basic('nobody', 'wrong'), 'x-forwarded-for': '192.0.2.1' };
    expect((await new HttpClient(() => host().url(), headers).get('login')).status).toBe(429);
  });
});
