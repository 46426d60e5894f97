/** What a new password must be, and what a user must show to set one. */
import { beforeAll, describe, expect, test } from 'vitest';
import { Passwords } from '../../../control-plane/operations/passwords/passwords.ts';
import { ROLE } from '../../support/clients/account-client.ts';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { sessionOf, WebClient } from '../../support/clients/web-client.ts';
import { addUser, failLogins, passLoginDelays, passwordHash } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, hosts, hostsOf, onHosts, onHostsWith, writeRow } from '../../support/hosts/hosts.ts';
import { cheapHash, USUAL_PASSWORD_COST } from '../../support/hosts/password-cost.ts';

const OLD = 'the old password';
const NEW = 'the new password';

/** The answer to a change: 200 in the contract, 201 in the variants of Zoe. */
const changedIn = (variant: string) => (variant === 'B' ? 200 : 201);

onHosts([...hosts, ...hostsOf('zoe-2018.12')], (host, { variant }) => {
  const anonymous = new HttpClient(() => host().url());
  const as = (username: string, password = OLD) => anonymous.with(basic(username, password));
  const admin = as('admin', ADMIN_PASSWORD);
  const logIn = async (username: string, password = OLD) =>
    (await as(username, password).get('login')).status;
  const withCookie = async (username: string, password = OLD) =>
    anonymous.with({ cookie: sessionOf(await as(username, password).get('login')) });
  const idOf = async (username: string) => {
    const { user } = (await as(username).get('login')).json<{ user: { id: number } }>();
    return user.id;
  };
  /** The text of the error, which variants of Zoe have in the status line only. */
  const messageOf = ({ text, reason }: Reply) => (variant === 'B' ? JSON.parse(text).message : reason);
  const added = async (username: string, role: 'user' | 'admin' = 'user') => {
    await addUser(host(), username, OLD, role);
    return idOf(username);
  };

  test('H321: a cookie changes the password of a user or an administrator only with the current one beside it', async () => {
    for (const role of ['user', 'admin'] as const) {
      const name = `field-${role}`;
      const id = await added(name, role);
      const cookie = await withCookie(name);
      const reply = await cookie.post(`user/${id}`, { password: NEW });
      expect(reply.status).toBe(variant === 'B' ? 403 : 401);
      expect(messageOf(reply)).toContain('current_password');
      expect([await logIn(name), await logIn(name, NEW)]).toEqual([200, 401]);
      const { status } = await cookie.post(`user/${id}`, { password: NEW, current_password: OLD });
      expect(status).toBe(changedIn(variant));
      expect([await logIn(name), await logIn(name, NEW)]).toEqual([401, 200]);
    }
  });

  test('H321: Basic credentials change the own password, and administrators those of others, by cookie too', async () => {
    const id = await added('basic');
    expect((await as('basic').post(`user/${id}`, { password: NEW })).status).toBe(changedIn(variant));
    expect(await logIn('basic', NEW)).toBe(200);
    const client = await withCookie('admin', ADMIN_PASSWORD);
    expect((await client.post(`user/${id}`, { password: OLD })).status).toBe(changedIn(variant));
    expect(await logIn('basic', OLD)).toBe(200);
  });

  test('H321: a wrong current password is 400, whatever the credential, and guesses are throttled like logins', async () => {
    const id = await added('wrong');
    const changes = { password: NEW, current_password: 'not this one' };
    const cookie = await withCookie('wrong');
    for (const client of [as('wrong'), cookie]) {
      const reply = await client.post(`user/${id}`, changes);
      expect([reply.status, messageOf(reply)]).toEqual([400, 'This is not your current password.']);
    }
    expect(await logIn('wrong')).toBe(200);
    // With these two, as many as cause no delay.
    await failLogins(host(), '127.0.0.1', 'wrong', 8);
    expect((await cookie.post(`user/${id}`, changes)).status).toBe(429);
    await passLoginDelays(host());
  });

  test("H321: current_password is 400 with another user's password or without a new one", async () => {
    const id = await added('strict');
    const changes = { email: 's@example.org', current_password: OLD };
    for (const [client, body] of [
      [admin, { password: NEW, current_password: ADMIN_PASSWORD }],
      [as('strict'), changes],
    ] as const)
      expect((await client.post(`user/${id}`, body)).status).toBe(400);
    expect(await logIn('strict')).toBe(200);
  });

  test("W111: the form for another user's password refuses one's own", async () => {
    const id = await added('self', 'admin');
    const page = await WebClient.logIn(host, 'self', OLD);
    const reply = await page.post(`/admin/users/${id}/password`, { password: NEW });
    expect([reply.status, reply.text]).toEqual([403, expect.stringContaining('page of your account')]);
    expect(await logIn('self')).toBe(200);
  });

  describe('new passwords', () => {
    const BAD: readonly [password: string, message: RegExp][] = [
      ['x', /at least 10 characters, not 1/],
      ['123456789', /at least 10 characters, not 9/],
      ['😀'.repeat(9), /at least 10 characters, not 9/],
      ['Margaret-Jones', /must not be the user's name/],
      ['y'.repeat(1_025), /at most 1024 characters/],
    ];
    const name = 'margaret-jones';
    let id: number;
    beforeAll(async () => {
      id = await added(name);
    });

    test.each(BAD)('H322: the password %j is refused by the API', async (password, message) => {
      for (const client of [admin, as(name)]) {
        const reply = await client.post(`user/${id}`, { password });
        expect([reply.status, messageOf(reply)]).toEqual([400, expect.stringMatching(message)]);
      }
      expect(await logIn(name)).toBe(200);
    });

    test('H322: an empty password and one that is the new name are refused, one of ten characters is not, and one that exists stays valid', async () => {
      const reply = await admin.post(`user/${id}`, { password: '' });
      expect(reply.status).toBe(400);
      expect(messageOf(reply)).toContain('must have at least 10 characters, not 0');
      const changes = { username: 'a-longer-name', password: 'A-Longer-Name' };
      expect((await admin.post(`user/${id}`, changes)).status).toBe(400);
      expect(await logIn(name)).toBe(200);
      const short = await added('ten');
      expect((await admin.post(`user/${short}`, { password: '0123456789' })).status).toBe(changedIn(variant));
      expect(await logIn('ten', '0123456789')).toBe(200);
      const hash = [cheapHash('x'), 'ten'];
      await writeRow(host(), 'UPDATE users SET password_hash = ? WHERE username = ?', hash);
      expect(await logIn('ten', 'x')).toBe(200);
    });

    test.each(BAD)('W112: the password %j is refused by every form', async (password, message) => {
      const [own, page] = [await WebClient.logIn(host, name, OLD), await WebClient.logIn(host)];
      const fields = { email: '', quota: '1', priority: '0', enabled: 'on', source: 'internal', uid: '' };
      const replies = [
        await own.post('/account/password', { present: OLD, password, repeated: password }),
        await page.post(`/admin/users/${id}/password`, { password }),
        await page.post('/admin/users', {
          username: password.length > 64 ? 'another' : `${password}`,
          password,
          role: String(ROLE.user),
          ...fields,
        }),
      ];
      for (const { status, text } of replies)
        expect([status, text.replaceAll('&#39;', "'")]).toEqual([400, expect.stringMatching(message)]);
      expect(await logIn(name)).toBe(200);
    });

    test('W112: every form of a new password states the limit', async () => {
      const page = await WebClient.logIn(host);
      for (const path of ['/account', '/admin/users/new', `/admin/users/${id}`])
        expect((await page.get(path)).text, path).toContain('At least 10 characters');
    });
  });
});

onHostsWith(
  { BERTH_LIMITS: JSON.stringify({ minPasswordLength: 12 }), ...USUAL_PASSWORD_COST },
  hosts,
  (host) => {
    const anonymous = new HttpClient(() => host().url());
    const as = (username: string, password: string) => anonymous.with(basic(username, password));

    test('H135: a password is hashed by this host with the full parameters, and is accepted', async () => {
      // The host itself hashes the first administrator's password.
      const hash = await passwordHash(host(), 'admin');
      expect(hash).toMatch(/^scrypt\$15\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
      expect((await as('admin', ADMIN_PASSWORD).get('login')).status).toBe(200);
      expect((await as('admin', 'another').get('login')).status).toBe(401);
      const passwords = new Passwords();
      const verified = [ADMIN_PASSWORD, 'another'].map((password) => passwords.verify(password, hash));
      expect(await Promise.all(verified)).toEqual([true, false]);
      await addUser(host(), 'later', 'of another user', 'user');
      expect(await passwordHash(host(), 'later')).toMatch(/^scrypt\$15\$8\$1\$/);
    });

    test('H322: BERTH_LIMITS.minPasswordLength changes the minimum, in the message too', async () => {
      const admin = as('admin', ADMIN_PASSWORD);
      const { user_id } = (
        await admin.post('user', { username: 'ann', role_id: ROLE.user, quota_id: 1 })
      ).json<{ user_id: number }>();
      const refused = await admin.post(`user/${user_id}`, { password: '0123456789a' });
      expect([refused.status, refused.json()]).toEqual([
        400,
        { code: 'invalid', message: 'password: must have at least 12 characters, not 11.' },
      ]);
      expect((await admin.post(`user/${user_id}`, { password: '0123456789ab' })).status).toBe(200);
    });
  },
);
