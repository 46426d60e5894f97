import { beforeAll, expect, test } from 'vitest';
import { basic, expectAnswer, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { addUser, allowApi, enableUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, bothGroups, type Group, onHosts, writeRow } from '../../support/hosts/hosts.ts';
import { fc } from '../../support/tools/random-cases.ts';

type Endpoint = [method: string, path: string];

/** Endpoints that require authentication, by methods and paths of the contract. */
const ENDPOINTS: Endpoint[] = [
  ['GET', 'login'],
  ['GET', 'execution'],
  ['POST', 'execution'],
  ['GET', 'execution/1'],
  ['DELETE', 'execution/1'],
  ['DELETE', 'execution/delete/1'],
  ['GET', 'execution/endpoints/1'],
  ['GET', 'service/1'],
  ['GET', 'service/logs/1'],
];
const ENDPOINTS_OF: Partial<Record<Group, Endpoint[]>> = {
  A: [
    ['POST', 'oauth/token'],
    ['DELETE', 'oauth/revoke/1'],
  ],
  B: ['user', 'role', 'quota'].flatMap((kind): Endpoint[] => [
    ['GET', kind],
    ['POST', kind],
    ['GET', `${kind}/1`],
    ['POST', `${kind}/1`],
    ['DELETE', `${kind}/1`],
  ]),
};

const CHALLENGE = 'Basic realm="berth", charset="UTF-8"';

onHosts(bothGroups, (host, { variant }) => {
  const endpoints = [...ENDPOINTS, ...(ENDPOINTS_OF[variant] ?? [])];
  /** What the answer to login contains for a user. */
  const isUser = (username: string) => (variant === 'A' ? { uid: username } : { user: { username } });
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));
  const as = (username: string, password = 'secret words') => anonymous.with(basic(username, password));

  beforeAll(async () => {
    await addUser(host(), 'alice', 'secret words', 'user');
    await addUser(host(), 'jürgen', 'pä:sswörter', 'user');
  });

  const setCookie = (reply: Reply): string => reply.headers['set-cookie']?.[0] ?? '';
  const logIn = async (client = as('alice')): Promise<string> => {
    const reply = await client.get('login');
    expect(reply.status).toBe(200);
    return setCookie(reply);
  };
  const withCookie = (cookie: string) => anonymous.with({ cookie: cookie.split(';')[0] ?? '' });

  test('H15: without credentials every endpoint that requires them is 401 with a Basic challenge', async () => {
    for (const [method, path] of endpoints) {
      const reply = await anonymous.send(method, path);
      expect(reply.status, `${method} ${path}`).toBe(401);
      expect(reply.headers['www-authenticate'], `${method} ${path}`).toBe(CHALLENGE);
    }
  });

  test('H16, H136: Basic credentials may be UTF-8 or Latin-1, with colons in the password, and the scheme in any case and with spaces', async () => {
    const named = 'jürgen:pä:sswörter';
    for (const [encoding, before, after] of [
      ['utf8', 'Basic ', ''],
      ['latin1', 'Basic ', ''],
      ['utf8', 'bAsIc ', ''],
      ['utf8', 'Basic   ', '  '],
    ] as const) {
      const authorization = before + Buffer.from(named, encoding).toString('base64') + after;
      const reply = await anonymous.with({ authorization }).get('login');
      expect(reply.json(), authorization).toMatchObject(isUser('jürgen'));
    }
    await addUser(host(), 'colon', ':a::b::c::d:', 'user');
    expect((await as('colon', ':a::b::c::d:').get('login')).status).toBe(200);
    expect((await as('colon', 'a::b::c::d:').get('login')).status).toBe(401);
  });

  test('H16, H70: login returns the user, in group A the role and the user name', async () => {
    const user = {
      ...{ id: 1, username: 'admin', email: '', role_id: 1, quota_id: 1 },
      ...{ auth_source: 'internal', fs_uid: 1000, priority: 0, enabled: true },
    };
    const expected = variant === 'A' ? { role: 'admin', uid: 'admin' } : { user };
    expect((await admin.get('login')).json()).toEqual(expected);
  });

  test('H16, H136: a wrong, empty or absent password, an unknown user and a disabled user get the same 401', async () => {
    for (const name of ['gone', 'unset']) await addUser(host(), name, 'secret words', 'user');
    await enableUser(host(), 'gone', false);
    await writeRow(host(), 'UPDATE users SET password_hash = NULL WHERE username = ?', ['unset']);
    const clients = [as('alice', 'wrong'), as('nobody'), as('gone'), as('', ''), as('', 'secret words')];
    clients.push(as('alice', ''), as('unset', ''), as('unset', 'null'));
    const replies = await Promise.all(clients.map((client) => client.get('login')));
    for (const { status, text, headers } of replies)
      expect([status, text, headers['set-cookie']]).toEqual([401, replies[0]?.text, undefined]);
  });

  test('H136: a name or password of more than 1,024 characters is 401 and does not count as a failure', async () => {
    const long = 'x'.repeat(1_025);
    for (let n = 0; n < 11; n++)
      for (const client of [as(long), as('alice', long)])
        expect((await client.get('login')).status).toBe(401);
    await addUser(host(), 'long', long.slice(1), 'user');
    expect((await as('long', long.slice(1)).get('login')).status).toBe(200);
    expect((await as('alice').get('login')).status).toBe(200);
  });

  test('H16, H136: credentials of another scheme or of any bytes are 401', async () => {
    const statusOf = async (authorization: string) =>
      (await anonymous.with({ authorization }).get('login')).status;
    for (const text of [
      'Bearer abc',
      'Basic',
      'Basic %%%',
      `Basic ${btoa('no colon')}`,
      'Digest username="admin"',
    ])
      expect(await statusOf(text), text).toBe(401);
    const odd = ['\0:\0', 'admin\0:x', "' OR 1=1 --:x", '\ud800:x', ':', '::', '%00:%00', '\ufeffadmin:x'];
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(...odd));
    await fc.assert(
      fc.asyncProperty(bytes, async (content) => {
        expect(await statusOf(`Basic ${Buffer.from(content).toString('base64')}`)).toBe(401);
      }),
      { numRuns: 25 },
    );
  });

  if (variant === 'B') {
    test('H126: group B has no token endpoints, and its answer to a Bearer token states what to send instead', async () => {
      expect((await anonymous.post('oauth/token', { grant_type: 'password' })).status).toBe(404);
      expect((await anonymous.delete('oauth/revoke/x')).status).toBe(404);
      const reply = await anonymous.with({ authorization: 'Bearer a.b.c' }).get('execution');
      expect(reply.status).toBe(401);
      expect(reply.headers['www-authenticate']).toBe(CHALLENGE);
      expect(reply.json<{ message: string }>().message).toContain('has no access tokens');
    });
  }

  test('H17, H801: the cookie is for this site only, hidden from scripts, and Secure where the first proxy uses https', async () => {
    const [first = '', ...attributes] = (await logIn()).split('; ');
    expect(first).toMatch(/^berth_session=[\w-]{43}$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax']);
    const behind = (schemes: string) => logIn(as('alice').with({ 'x-forwarded-proto': schemes }));
    for (const schemes of ['https', 'https, http', 'HTTPS', 'https,https', ' https ', 'wss']) {
      expect(await behind(schemes)).toMatch(/^__Host-berth_session=.*; Secure/);
      expect(await behind(`http, ${schemes}`)).not.toContain('__Host-');
    }
  });

  test('H18: the cookie replaces the credentials, also among others, and Basic credentials take precedence over it', async () => {
    const cookie = await logIn();
    const reply = await withCookie(cookie).get('login');
    expect(reply.json()).toMatchObject(isUser('alice'));
    // The login sends the same session again, and nothing else sends one.
    expect(setCookie(reply)).toContain(cookie.split(';')[0]);
    expect(setCookie(await withCookie(cookie).get('execution'))).toBe('');
    const among = `theme=dark; ${cookie.split(';')[0]}; lang=en`;
    expect((await anonymous.with({ cookie: among }).get('execution')).status).toBe(200);
    const both = await withCookie(cookie).with(basic('admin', ADMIN_PASSWORD)).get('login');
    expect(both.json()).toMatchObject(isUser('admin'));
    expect((await withCookie(cookie).with(basic('admin', 'wrong')).get('login')).status).toBe(401);
  });

  test('H701: different cookies of the same name log in nobody, which is stated, and one sent twice does', async () => {
    const [own = ''] = (await logIn()).split(';');
    const other = `berth_session=${'x'.repeat(43)}`;
    const both = `${other}; a=b; ${own}`;
    const sent = (cookie: string) => anonymous.with({ cookie });
    await expectAnswer(sent(both).get('execution'), 401, 'two cookies with the name berth_session');
    expect((await as('alice').with({ cookie: both }).get('execution')).status).toBe(200);
    expect((await sent(`${own}; ${own}`).get('execution')).status).toBe(200);
    // Another name, whatever a program takes for a space.
    expect((await sent(`\u00a0${other}; ${own}`).get('execution')).status).toBe(200);
    expect((await sent(`\u00a0${own}`).get('execution')).status).toBe(401);
  });

  test('H18: an unknown and an expired cookie authenticate no user', async () => {
    expect((await withCookie(`berth_session=${'x'.repeat(43)}`).get('execution')).status).toBe(401);
    await addUser(host(), 'late', 'secret words', 'user');
    const cookie = await logIn(as('late'));
    const ofLate = "(SELECT id FROM users WHERE username = 'late')";
    await writeRow(host(), `UPDATE sessions SET expires_ms = 1 WHERE user_id = ${ofLate}`, []);
    expect((await withCookie(cookie).get('execution')).status).toBe(401);
  });

  test('H22: a user whose role lacks can_access_api gets 403 at every endpoint that requires credentials', async () => {
    await addUser(host(), 'eve', 'secret words', 'superuser');
    const cookie = await logIn(as('eve'));
    await allowApi(host(), 'superuser', false);
    for (const [method, path] of endpoints) {
      const reply = await withCookie(cookie).send(method, path, method === 'POST' ? '{}' : undefined);
      expect(reply.status, `${method} ${path}`).toBe(403);
    }
    await allowApi(host(), 'superuser', true);
    expect((await withCookie(cookie).get('execution')).status).toBe(200);
  });
});
