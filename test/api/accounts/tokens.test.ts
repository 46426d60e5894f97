import { randomBytes } from 'node:crypto';
import { decodeJwt, SignJWT } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { sessionOf } from '../../support/clients/web-client.ts';
import { addUser, allowApi, changeUser, failLogins } from '../../support/fixtures/users.ts';
import { hostsOf, onHosts, queryRows } from '../../support/hosts/hosts.ts';

type Pair = {
  access_token: string;
  refresh_token: string;
};

const HOUR_S = 3_600;

onHosts(hostsOf('A'), (host) => {
  const anonymous = new HttpClient(() => host().url());
  const as = (username: string, password = 'secret words') => anonymous.with(basic(username, password));
  const bearing = (token: string) => anonymous.with({ authorization: `Bearer ${token}` });
  const ask = (client: HttpClient, grant: unknown): Promise<Reply> =>
    client.post('oauth/token', { grant_type: grant });
  const pairOf = async (client: HttpClient): Promise<Pair> => {
    const reply = await ask(client, 'password');
    expect(reply.status, reply.text).toBe(200);
    return reply.json<Pair>();
  };
  const refreshed = async (pair: Pair): Promise<string> => {
    const reply = await ask(bearing(pair.refresh_token), 'refresh_token');
    expect(reply.status, reply.text).toBe(200);
    return reply.json<Pair>().access_token;
  };
  const tokenKey = async () => {
    const [row] = await queryRows(host(), "SELECT value FROM secrets WHERE name = 'token-key'");
    return Buffer.from(String(row?.value), 'base64url');
  };
  const cookieOf = async (username: string) =>
    anonymous.with({ cookie: sessionOf(await as(username).get('login')) });
  const works = async (token: string) => (await bearing(token).get('execution')).status === 200;
  const revoke = (client: HttpClient, token: string) => client.delete(`oauth/revoke/${token}`);

  let users = 0;
  const newUser = async (role: 'user' | 'admin' = 'user'): Promise<string> => {
    users += 1;
    await addUser(host(), `user${users}`, 'secret words', role);
    return `user${users}`;
  };

  beforeAll(() => addUser(host(), 'alice', 'secret words', 'user'));

  test('H17, H120: the password grant returns a pair of tokens, their type and their lifetime, and sets the cookie', async () => {
    const reply = await ask(as('alice'), 'password');
    expect(reply.status).toBe(200);
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(sessionOf(reply)).not.toBe('');
    expect(reply.json()).toEqual({
      token_type: 'Bearer',
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      refresh_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: HOUR_S,
    });
    const { access_token, refresh_token } = reply.json<Pair>();
    const lifeS = (token: string) => Number(decodeJwt(token).exp) - Number(decodeJwt(token).iat);
    // Whole seconds, never less than the returned lifetime.
    expect([HOUR_S, HOUR_S + 1]).toContain(lifeS(access_token));
    expect([30 * 24 * HOUR_S, 30 * 24 * HOUR_S + 1]).toContain(lifeS(refresh_token));
  });

  test('H120: the refresh token yields another access token, and stays valid', async () => {
    const pair = await pairOf(as('alice'));
    const reply = await ask(bearing(pair.refresh_token), 'refresh_token');
    expect(reply.json()).toEqual({
      token_type: 'Bearer',
      access_token: expect.any(String),
      expires_in: HOUR_S,
    });
    const next = await refreshed(pair);
    expect(new Set([pair.access_token, next, reply.json().access_token]).size).toBe(3);
    expect([await works(pair.access_token), await works(next)]).toEqual([true, true]);
  });

  test('H120: credentials that do not match the grant are 401, including a cookie and the access token', async () => {
    const cookie = await cookieOf('alice');
    const { access_token, refresh_token } = await pairOf(as('alice'));
    const replies = [
      await ask(cookie, 'password'),
      await ask(bearing(access_token), 'password'),
      await ask(bearing(refresh_token), 'password'),
      await ask(anonymous, 'password'),
      await ask(cookie, 'refresh_token'),
      await ask(as('alice'), 'refresh_token'),
      await ask(bearing(access_token), 'refresh_token'),
      await ask(as('alice', 'wrong'), 'password'),
    ];
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 401));
  });

  test('H120: any other grant is 400, and missing credentials are 401 before the body is read', async () => {
    for (const body of ['{}', '{"grant_type":"code"}', '{"grant_type":null}', '[]', 'x', '']) {
      expect((await as('alice').send('POST', 'oauth/token', body)).status, body).toBe(400);
      expect((await anonymous.send('POST', 'oauth/token', body)).status, body).toBe(401);
    }
  });

  test('H121: endpoints accept password, cookie and access token alike', async () => {
    const cookie = await cookieOf('alice');
    const { access_token, refresh_token } = await pairOf(as('alice'));
    for (const [method, path, status] of [
      ['GET', 'login', 200],
      ['GET', 'execution', 200],
      ['POST', 'execution', 400],
      ['GET', 'execution/999', 404],
      ['DELETE', 'execution/999', 404],
      ['DELETE', 'execution/delete/999', 403],
      ['GET', 'execution/endpoints/999', 404],
      ['GET', 'service/999', 404],
      ['GET', 'service/logs/999', 404],
      ['DELETE', 'oauth/revoke/x', 404],
    ] as const) {
      const statusOf = async (client: HttpClient) =>
        (await client.send(method, path, method === 'POST' ? '{}' : undefined)).status;
      for (const client of [as('alice'), cookie, bearing(access_token)])
        expect(await statusOf(client), path).toBe(status);
      expect(await statusOf(bearing(refresh_token)), path).toBe(401);
    }
  });

  test('H121: an invalid token is 401 with error="invalid_token", whatever cookie the request carries', async () => {
    const cookie = await cookieOf('alice');
    const { access_token, refresh_token } = await pairOf(as('alice'));
    const [head, claims, signature = ''] = access_token.split('.');
    const tampered = `${head}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    for (const token of ['', 'x', 'a.b.c', '..', tampered, refresh_token, 'x'.repeat(8_000)]) {
      const reply = await cookie.with({ authorization: `Bearer ${token}` }).get('execution');
      expect(reply.status, token).toBe(401);
      expect(reply.headers['www-authenticate']).toBe('Bearer realm="berth", error="invalid_token"');
      expect(reply.json()).toEqual({ code: 'bad-token', message: expect.stringContaining('token') });
    }
  });

  test('H122: only tokens that Berth has signed for this purpose are valid, and the key is in no output', async () => {
    const { access_token } = await pairOf(as('alice'));
    const key = await tokenKey();
    const claims = decodeJwt(access_token);
    const signed = (changes: Record<string, unknown>, header = {}, by: Uint8Array = key) =>
      new SignJWT({ ...claims, ...changes })
        .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', ...header })
        .sign(by);
    const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
    const nowS = Math.floor(Date.now() / 1_000);
    expect(await works(await signed({}))).toBe(true);
    const forged = {
      expired: await signed({ exp: nowS - 1 }),
      endless: await signed({ exp: undefined }),
      'of another issuer': await signed({ iss: 'other' }),
      'for others': await signed({ aud: 'other' }),
      'with another id': await signed({ jti: 'other' }),
      'without an id': await signed({ jti: undefined }),
      'of another type': await signed({}, { typ: 'JWT' }),
      'called a refresh token': await signed({}, { typ: 'rt+jwt' }),
      'by another key': await signed({}, {}, randomBytes(32)),
      'by another algorithm': await signed({}, { alg: 'HS512' }),
      unsigned: `${none}.${access_token.split('.')[1]}.`,
    };
    for (const [what, token] of Object.entries(forged))
      expect([what, await works(token)]).toEqual([what, false]);
    expect(host().output()).not.toContain(key.toString('base64url'));
  });

  test('H123: revoking an access token ends it alone, and a refresh token also its access tokens, and no other pair', async () => {
    const [pair, other] = [await pairOf(as('alice')), await pairOf(as('alice'))];
    const later = await refreshed(pair);
    const reply = await revoke(as('alice'), pair.access_token);
    expect(reply.json()).toEqual({ ret: 'Revoked token.' });
    expect([await works(pair.access_token), await works(later)]).toEqual([false, true]);
    expect((await revoke(as('alice'), pair.access_token)).status).toBe(404);
    const last = await refreshed(pair);
    expect((await revoke(as('alice'), pair.refresh_token)).status).toBe(200);
    expect([await works(later), await works(last)]).toEqual([false, false]);
    expect(await works(other.access_token)).toBe(true);
    expect((await ask(bearing(pair.refresh_token), 'refresh_token')).status).toBe(401);
    expect(await works(await refreshed(other))).toBe(true);
  });

  test("H123: another user's token is 404 like an unknown one, even for administrators", async () => {
    const { access_token } = await pairOf(as('alice'));
    const replies = [
      await revoke(as(await newUser()), access_token),
      await revoke(as(await newUser('admin')), access_token),
      await revoke(as('alice'), 'none'),
    ];
    for (const { status, text } of replies)
      expect([status, text]).toEqual([404, '{"code":"not-found","message":"There is no such token."}']);
    expect(await works(access_token)).toBe(true);
    expect((await revoke(anonymous, access_token)).status).toBe(401);
  });

  test.each(['password', 'role', 'enabled', 'deleted'] as const)(
    'H124: a change of %s ends access and refresh tokens at once',
    async (change) => {
      const name = await newUser();
      const pair = await pairOf(as(name));
      await changeUser(host(), name, change);
      expect(await works(pair.access_token)).toBe(false);
      expect((await ask(bearing(pair.refresh_token), 'refresh_token')).status).toBe(401);
    },
  );

  test('H124: tokens and revocations survive a crash', async () => {
    const [valid, revoked] = [await pairOf(as('alice')), await pairOf(as('alice'))];
    await revoke(as('alice'), revoked.refresh_token);
    await host().crash();
    await host().start();
    expect([await works(valid.access_token), await works(revoked.access_token)]).toEqual([true, false]);
    expect(await works(await refreshed(valid))).toBe(true);
  });

  test('H22: a role without can_access_api gets no tokens, and those that it has are 403', async () => {
    await addUser(host(), 'eve', 'secret words', 'superuser');
    const pair = await pairOf(as('eve'));
    await allowApi(host(), 'superuser', false);
    const replies = [
      await bearing(pair.access_token).get('execution'),
      await ask(bearing(pair.refresh_token), 'refresh_token'),
      await ask(as('eve'), 'password'),
      await revoke(as('eve'), pair.access_token),
    ];
    await allowApi(host(), 'superuser', true);
    expect(replies.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  });

  test('H130: the password grant is throttled like any login, and existing tokens are not', async () => {
    const name = await newUser();
    const { access_token, refresh_token } = await pairOf(as(name));
    await failLogins(host(), '127.0.0.1', name, 10);
    const reply = await ask(as(name, 'wrong'), 'password');
    expect([reply.status, Number(reply.headers['retry-after']) > 0]).toEqual([429, true]);
    expect(await works(access_token)).toBe(true);
    expect((await ask(bearing(refresh_token), 'refresh_token')).status).toBe(200);
  });
});
