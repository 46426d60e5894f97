import { beforeAll, expect, test } from 'vitest';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import {
  addUser,
  allowApi,
  enableUser,
  expireSessions,
  unsetPassword,
} from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, bothGroups, type Group, onHosts } from '../../support/hosts/hosts.ts';
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

  test.each(endpoints)(
    'H15: %s %s without credentials is 401 with a Basic challenge',
    async (method, path) => {
      const reply = await anonymous.send(method, path);
      expect(reply.status).toBe(401);
      expect(reply.headers['www-authenticate']).toBe('Basic realm="berth", charset="UTF-8"');
    },
  );

  test('H16: Basic credentials may be UTF-8, with a colon in the password', async () => {
    expect((await as('jürgen', 'pä:sswörter').get('login')).json()).toMatchObject(isUser('jürgen'));
  });

  test('H16: login returns the user', async () => {
    const user = {
      id: 1,
      username: 'admin',
      email: '',
      role_id: 1,
      quota_id: 1,
      auth_source: 'internal',
      fs_uid: 1000,
      priority: 0,
      enabled: true,
    };
    const expected = variant === 'A' ? { role: 'admin', uid: 'admin' } : { user };
    expect((await admin.get('login')).json()).toEqual(expected);
  });

  test('H16: a wrong password, an unknown user and a disabled user get the same 401', async () => {
    await addUser(host(), 'gone', 'secret words', 'user');
    await enableUser(host(), 'gone', false);
    const replies = [
      await as('alice', 'wrong').get('login'),
      await as('nobody').get('login'),
      await as('gone').get('login'),
    ];
    for (const { status, text, headers } of replies) {
      expect({ status, text, cookie: headers['set-cookie'] }).toEqual({
        status: 401,
        text: replies[0]?.text,
        cookie: undefined,
      });
    }
  });

  test('H16: Basic credentials may be Latin-1', async () => {
    const authorization = `Basic ${Buffer.from('jürgen:pä:sswörter', 'latin1').toString('base64')}`;
    expect((await anonymous.with({ authorization }).get('login')).json()).toMatchObject(isUser('jürgen'));
  });

  test('H136: the first colon ends the name, and later colons belong to the password', async () => {
    await addUser(host(), 'colon', ':a::b::c::d:', 'user');
    expect((await as('colon', ':a::b::c::d:').get('login')).status).toBe(200);
    expect((await as('colon', 'a::b::c::d:').get('login')).status).toBe(401);
  });

  test('H136: the scheme is accepted in any case and with surrounding spaces', async () => {
    const encoded = btoa('alice:secret words');
    for (const authorization of [`bAsIc ${encoded}`, `Basic   ${encoded}  `])
      expect((await anonymous.with({ authorization }).get('login')).status, authorization).toBe(200);
  });

  test('H136: an empty name or password is wrong, even for a user without a password', async () => {
    await addUser(host(), 'unset', 'secret words', 'user');
    await unsetPassword(host(), 'unset');
    for (const client of [
      as('', ''),
      as('', 'secret words'),
      as('alice', ''),
      as('unset', ''),
      as('unset', 'null'),
    ])
      expect((await client.get('login')).status).toBe(401);
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

  test('H136: credentials of any bytes are 401', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(
        '\0:\0',
        'admin\0:x',
        "' OR 1=1 --:x",
        '\ud800:x',
        ':',
        '::',
        '%00:%00',
        '\ufeffadmin:x',
      ),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (content) => {
        const authorization = `Basic ${Buffer.from(content).toString('base64')}`;
        expect((await anonymous.with({ authorization }).get('login')).status).toBe(401);
      }),
      { numRuns: 25 },
    );
  });

  test.each(['Bearer abc', 'Basic', 'Basic %%%', `Basic ${btoa('no colon')}`, 'Digest username="admin"'])(
    'H16: the credentials %s are 401',
    async (authorization) => {
      expect((await anonymous.with({ authorization }).get('login')).status).toBe(401);
    },
  );

  if (variant === 'B') {
    test('H126: group B has no token endpoints, and its answer to a Bearer token states what to send instead', async () => {
      expect((await anonymous.post('oauth/token', { grant_type: 'password' })).status).toBe(404);
      expect((await anonymous.delete('oauth/revoke/x')).status).toBe(404);
      const reply = await anonymous.with({ authorization: 'Bearer a.b.c' }).get('execution');
      expect(reply.status).toBe(401);
      expect(reply.headers['www-authenticate']).toBe('Basic realm="berth", charset="UTF-8"');
      expect(reply.json<{ message: string }>().message).toContain('has no access tokens');
    });
  }

  test('H17: the cookie is for this site only, and scripts cannot read it', async () => {
    const [first = '', ...attributes] = (await logIn()).split('; ');
    expect(first).toMatch(/^berth_session=[\w-]{43}$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax']);
  });

  test('H17: the cookie is Secure behind a proxy that uses https', async () => {
    expect(await logIn(as('alice').with({ 'x-forwarded-proto': 'https' }))).toContain('; Secure');
  });

  test.each(['https, http', 'HTTPS', 'https,https', ' https ', 'wss'])(
    'H801: of the schemes %j of several proxies, the first is that of the client',
    async (schemes) => {
      expect(await logIn(as('alice').with({ 'x-forwarded-proto': schemes }))).toContain(
        '__Host-berth_session',
      );
      const others = `http, ${schemes}`;
      expect(await logIn(as('alice').with({ 'x-forwarded-proto': others }))).not.toContain('__Host-');
    },
  );

  test.each(['execution', 'execution/999', 'service/999'])(
    'H17: Basic credentials at %s also set the cookie',
    async (path) => {
      expect(setCookie(await as('alice').get(path))).toContain('berth_session=');
    },
  );

  test('H18: the cookie replaces the credentials', async () => {
    const cookie = await logIn();
    const reply = await withCookie(cookie).get('login');
    expect(reply.json()).toMatchObject(isUser('alice'));
    // The login sends the same session again, and nothing else sends one.
    expect(setCookie(reply)).toContain(cookie.split(';')[0]);
    expect(setCookie(await withCookie(cookie).get('execution'))).toBe('');
  });

  test('H18: a client may send the whole Set-Cookie value back', async () => {
    const cookie = await logIn();
    expect((await anonymous.with({ cookie }).get('execution')).status).toBe(200);
  });

  test('H18: the cookie is found among other cookies', async () => {
    const cookie = `theme=dark; ${(await logIn()).split(';')[0]}; lang=en`;
    expect((await anonymous.with({ cookie }).get('execution')).status).toBe(200);
  });

  test('H701: different cookies of the same name log in nobody, which is stated, and one sent twice does', async () => {
    const [own = ''] = (await logIn()).split(';');
    const other = `berth_session=${'x'.repeat(43)}`;
    const both = `${other}; a=b; ${own}`;
    const sent = (cookie: string) => anonymous.with({ cookie });
    const reply = await sent(both).get('execution');
    expect([reply.status, reply.text]).toEqual([
      401,
      expect.stringContaining('two cookies with the name berth_session'),
    ]);
    expect((await as('alice').with({ cookie: both }).get('execution')).status).toBe(200);
    expect((await sent(`${own}; ${own}`).get('execution')).status).toBe(200);
    // Another name, whatever a program takes for a space.
    expect((await sent(`\u00a0${other}; ${own}`).get('execution')).status).toBe(200);
    expect((await sent(`\u00a0${own}`).get('execution')).status).toBe(401);
  });

  test('H18: an unknown cookie authenticates no user', async () => {
    expect((await withCookie(`berth_session=${'x'.repeat(43)}`).get('execution')).status).toBe(401);
  });

  test('H18: an expired cookie authenticates no user', async () => {
    await addUser(host(), 'late', 'secret words', 'user');
    const cookie = await logIn(as('late'));
    await expireSessions(host(), 'late');
    expect((await withCookie(cookie).get('execution')).status).toBe(401);
  });

  test('H18: Basic credentials take precedence over a cookie', async () => {
    const cookie = await logIn();
    const both = await withCookie(cookie).with(basic('admin', ADMIN_PASSWORD)).get('login');
    expect(both.json()).toMatchObject(isUser('admin'));
    expect((await withCookie(cookie).with(basic('admin', 'wrong')).get('login')).status).toBe(401);
  });

  test('H19: a change of the user ends cookies and remembered credentials at once', async () => {
    await addUser(host(), 'bob', 'secret words', 'user');
    const cookie = await logIn(as('bob'));
    await enableUser(host(), 'bob', false);
    expect((await withCookie(cookie).get('execution')).status).toBe(401);
    expect((await as('bob').get('execution')).status).toBe(401);
    await enableUser(host(), 'bob', true);
    expect((await withCookie(cookie).get('execution')).status).toBe(401);
    expect((await as('bob').get('execution')).status).toBe(200);
  });

  test('H20: a client that sends Basic credentials often keeps one session', async () => {
    const cookies = [await logIn(), await logIn(), await logIn()];
    expect(new Set(cookies).size).toBe(1);
  });

  test('H20: a login by Basic credentials after a logout gets another session, which is open', async () => {
    const ended = await logIn();
    expect((await withCookie(ended).send('POST', '/logout')).status).toBe(303);
    const cookie = await logIn();
    expect(cookie).not.toBe(ended);
    expect((await withCookie(cookie).get('execution')).status).toBe(200);
    expect((await withCookie(ended).get('execution')).status).toBe(401);
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
