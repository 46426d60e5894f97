/** Creations of users, roles, quotas and join tokens with the header Idempotency-Key. */
import { describe, expect, test } from 'vitest';
import { AccountClient, type Fields, type Kind, plain } from '../../support/clients/account-client.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import {
  ADMIN_PASSWORD,
  eitherGroup,
  hosts,
  hostsOf,
  onHosts,
  queryRows,
} from '../../support/hosts/hosts.ts';

const REPEATED = 'idempotent-replayed';
const quota = { concurrent_executions: 1, memory: 0, cores: 0 };

const bodies: Record<Kind, (name: string) => Fields> = {
  user: (name) => ({ username: name, ...plain }),
  role: (name) => ({ name }),
  quota: (name) => ({ name, ...quota }),
};

onHosts(hosts, (host) => {
  const { admin } = new AccountClient(host);

  describe.each(['user', 'role', 'quota'] as const)('POST %s', (kind) => {
    const body = bodies[kind];
    const keyed = (key: string) => admin.with({ 'idempotency-key': `${kind}-${key}` });
    const named = async () => Object.keys((await admin.get(kind)).json());

    test(`H440, H441: a repeat of POST ${kind} makes nothing and gets the first answer`, async () => {
      const first = await keyed('a').post(kind, body('first'));
      expect([first.status, first.headers[REPEATED]]).toEqual([200, undefined]);
      const id = first.json()[`${kind}_id`];
      expect((await admin.delete(`${kind}/${id}`)).status).toBe(200);
      const before = await named();
      const repeat = await keyed('a').post(kind, body('first'));
      expect([repeat.status, repeat.text, repeat.headers[REPEATED]]).toEqual([200, first.text, 'true']);
      expect(await named()).toEqual(before);
    });

    test(`H441: a change by POST ${kind}/<id> ignores the key`, async () => {
      const id = (await admin.post(kind, body('fifth'))).json()[`${kind}_id`];
      const name = kind === 'user' ? 'username' : 'name';
      for (const changed of ['sixth', 'seventh']) {
        const reply = await keyed('e').post(`${kind}/${id}`, { [name]: changed });
        expect([reply.status, reply.headers[REPEATED]]).toEqual([200, undefined]);
      }
      expect((await admin.get(`${kind}/${id}`)).text).toContain('seventh');
    });
  });
});

onHosts(eitherGroup, (host) => {
  const admin = new HttpClient(() => host().url(), basic('admin', ADMIN_PASSWORD));

  test('H444: a repeat of POST host/token is 409 with the expiry of the first token, and shows no token', async () => {
    const keyed = admin.with({ 'idempotency-key': 'one-token' });
    const first = await keyed.post('host/token', { name: 'db1' });
    expect(first.status).toBe(200);
    const { token, expires_at } = first.json<{ token: string; expires_at: number }>();
    const repeat = await keyed.post('host/token', { name: 'db1' });
    expect([repeat.status, repeat.headers[REPEATED]]).toEqual([409, undefined]);
    expect(repeat.json().message).toContain(new Date(expires_at * 1_000).toISOString());
    expect((await keyed.post('host/token', { name: 'db2' })).status).toBe(422);
    const made = "SELECT name FROM join_tokens WHERE name LIKE 'db_'";
    expect(await queryRows(host(), made)).toEqual([{ name: 'db1' }]);
    const keys = await queryRows(host(), 'SELECT * FROM idempotency_keys');
    expect(JSON.stringify(keys)).not.toContain(token);
  });

  test('H441: a change of a host by POST ignores the key', async () => {
    const keyed = admin.with({ 'idempotency-key': 'a-host' });
    expect((await keyed.post('host/999', { schedulable: false })).status).toBe(404);
    expect((await keyed.post('host/token', {})).status).toBe(200);
  });
});

onHosts(hostsOf('A'), (host) => {
  test('H441: POST oauth/token ignores the key, and each answer has tokens of its own', async () => {
    const keyed = new HttpClient(() => host().url(), {
      ...basic('admin', ADMIN_PASSWORD),
      'idempotency-key': 'a login',
    });
    const grant = async () =>
      (await keyed.post('oauth/token', { grant_type: 'password' })).json().access_token;
    expect(await grant()).not.toBe(await grant());
  });
});
