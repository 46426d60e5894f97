import { expect, test } from 'vitest';
import { basic, expectAnswer, HttpClient } from '../../support/clients/http-client.ts';
import { formOf, PAGE, sessionOf } from '../../support/clients/web-client.ts';
import { addUser, allowApi, failLogins, passLoginDelays } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, hosts, onHosts } from '../../support/hosts/hosts.ts';

/** The address of the tests, as the host sees it. */
const LOOPBACK = '127.0.0.1';

onHosts(hosts, (host) => {
  const anyone = new HttpClient(() => host().url(), PAGE);
  const logIn = (fields = {}) =>
    anyone.send('POST', '/login', formOf({ username: 'admin', password: ADMIN_PASSWORD, ...fields }));
  const session = async (fields = {}) => anyone.with({ cookie: sessionOf(await logIn(fields)) });

  test('H701: a browser with two sessions reads that a login would not help, also at the login', async () => {
    const cookie = `berth_session=${'x'.repeat(43)}; berth_session=${'y'.repeat(43)}`;
    for (const path of ['/executions', '/login', '/login?next=%2Fshop']) {
      const { status, text } = await anyone.with({ cookie }).get(path);
      expect(status).toBe(401);
      expect(text).toContain('two cookies with the name berth_session');
    }
  });

  test('W226: a browser that does not bring cookies back reads why, before a login that would have no effect', async () => {
    const proxied = { 'x-forwarded-proto': 'https' };
    const form = { username: 'admin', password: ADMIN_PASSWORD, next: '/shop', cookie: 'set' };
    const first = await anyone.with(proxied).get('/login');
    const [probe = ''] = (first.headers['set-cookie']?.[0] ?? '').split(';');
    expect(probe).toBe('__Host-berth_login=1');
    expect(first.text).toContain('name="cookie" value="set"');
    // Over http the browser has dropped the cookie.
    const refused = await anyone.with(proxied).send('POST', '/login', formOf(form));
    await expectAnswer(refused, 400, 'X-Forwarded-Proto: https');
    expect(refused.text).toContain('value="admin"');
    expect(sessionOf(refused)).not.toContain('berth_session');
    await expectAnswer(anyone.send('POST', '/login', formOf(form)), 400, 'Allow cookies for');
    const entered = await anyone.with({ ...proxied, cookie: probe }).send('POST', '/login', formOf(form));
    expect([entered.status, entered.headers.location]).toEqual([303, '/shop']);
  });

  test('H819: pages link to the guide, and each link of a guide to another or to a heading has its target', async () => {
    const admin = await session();
    for (const path of ['/executions', '/start', '/account'])
      expect((await admin.get(path)).text).toContain('<a href="/guide">Guide</a>');
    expect((await admin.get('/guide')).headers.location).toBe('/guide/user-guide');
    const pages = new Map<string, string>();
    const waiting = ['/guide/user-guide'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const { status, text } = await admin.get(path);
      expect([path, status]).toEqual([path, 200]);
      pages.set(path, text);
      const linked = [...text.matchAll(/<a href="(\/guide\/[^"#]*)/g)].map(([, to = '']) => to);
      waiting.push(...new Set(linked.filter((to) => !pages.has(to) && !waiting.includes(to))));
    }
    expect([...pages.keys()]).toEqual(expect.arrayContaining(['/guide/operator-guide', '/guide/glossary']));
    const missing = [...pages].flatMap(([path, text]) =>
      [...text.matchAll(/<a href="([^"#]*)#([^"]+)"/g)].flatMap(([link, to = '', place = '']) =>
        to === '' || to.startsWith('/guide/')
          ? pages.get(to || path)?.includes(`id="${decodeURI(place)}"`)
            ? []
            : [`${path}: ${link}`]
          : [],
      ),
    );
    expect(missing.filter((one) => !one.endsWith('#main"'))).toEqual([]);
    for (const path of ['/guide/none', '/guide/..%2fpackage', '/guide/decisions', '/guide/User-Guide'])
      expect([path, (await admin.get(path)).status]).toEqual([path, 404]);
    expect((await anyone.get('/guide/user-guide')).status).toBe(303);
  });

  test('W1: a page requires a session, and other visitors are redirected to the login', async () => {
    const reply = await anyone.get('/executions/5?a=b&c');
    expect(reply.status).toBe(303);
    expect(reply.headers.location).toBe('/login?next=%2Fexecutions%2F5%3Fa%3Db%26c');
    const first = await anyone.get('/');
    expect([first.status, first.headers.location]).toEqual([303, '/executions']);
    expect((await anyone.with(basic('admin', ADMIN_PASSWORD)).get('/executions')).status).toBe(303);
  });

  test.each([
    ['/executions/5?a=b', '/executions/5?a=b'],
    ['//elsewhere.example/', '/executions'],
    ['/\\elsewhere.example/', '/executions'],
    ['https://elsewhere.example/', '/executions'],
    ['/\t/elsewhere.example/', '/executions'],
    ['/.//elsewhere.example/', '/executions'],
    ['/a/..//elsewhere.example/', '/executions'],
    ['/%2e//elsewhere.example/', '/executions'],
    ['javascript:alert(1)', '/executions'],
    ['', '/executions'],
  ])('W1: a login with the next path %j continues to %j, never to another site', async (next, to) => {
    const reply = await logIn({ next });
    expect([reply.status, reply.headers.location]).toEqual([303, to]);
  });

  test('H375: a form of more than 64 KiB is refused, and one with a description of more than 512 KiB', async () => {
    const long = `a=${'x'.repeat(2 ** 16)}`;
    await expectAnswer(anyone.send('POST', '/login', long), 413, 'larger than 65536 bytes');
    const mine = await session();
    const longest = `description=${'x'.repeat(2 ** 19 - 12)}`;
    for (const [path, body, isRefused] of [
      ['/start', long, true],
      ['/shop/hello-0', long, true],
      ['/start?by=description', longest, false],
      ['/start?by=description', `${longest}x`, true],
      ['/start/check', `${longest}x`, true],
    ] as const)
      expect([path, (await mine.send('POST', path, body)).status === 413]).toEqual([path, isRefused]);
  });

  test('W2: an unknown user and a wrong password get the same answer', async () => {
    const wrong = await logIn({ password: 'a guess' });
    const unknown = await logIn({ username: 'admin2', password: 'a guess' });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(unknown.text.replaceAll('admin2', 'admin')).toBe(wrong.text);
    expect(wrong.text).toContain('Wrong user name or password.');
    expect(sessionOf(wrong)).toBe('');
  });

  test('W3: a logout ends its session at once, and no other', async () => {
    const [mine, another] = await Promise.all([session(), session()]);
    expect((await mine.get('/executions')).status).toBe(200);
    const left = await mine.send('POST', '/logout', '');
    expect([left.status, left.headers.location]).toEqual([303, '/login']);
    expect((await mine.get('/executions')).status).toBe(303);
    expect((await mine.get('execution')).status).toBe(401);
    expect((await another.get('/executions')).status).toBe(200);
  });

  test('H296: HEAD of the event stream of pages opens no stream, however often it is sent', async () => {
    const mine = await session();
    const replies = await Promise.all(Array.from({ length: 51 }, () => mine.send('HEAD', '/events', '')));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(replies[0]?.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  });

  test('W4: a page loads nothing from elsewhere, runs nothing inline, and can not be framed', async () => {
    const { headers, text } = await anyone.get('/login');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=/);
    expect(text).not.toMatch(/(src|href|action)="(?!\/(?!\/)|#)/);
  });

  test('W5: a change that another site sends is refused', async () => {
    const mine = await session();
    for (const from of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'http://elsewhere.example' },
      { origin: 'null' },
    ]) {
      expect((await mine.with(from).send('POST', '/logout', '')).status).toBe(403);
      const form = formOf({ username: 'a', password: 'b' });
      expect((await anyone.with(from).send('POST', '/login', form)).status).toBe(403);
    }
    expect((await mine.get('/executions')).status).toBe(200);
    const own = mine.with({ 'sec-fetch-site': 'same-origin' });
    expect((await own.send('POST', '/logout', '')).status).toBe(303);
  });

  test('W6: an unknown path is a page for browsers, and JSON for programs', async () => {
    const page = await anyone.get('/no-such-page');
    expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    const program = await new HttpClient(() => host().url()).get('/no-such-page');
    expect(program.status).toBe(404);
    expect(program.json()).toEqual({ code: 'not-found', message: 'There is no /no-such-page here.' });
    expect((await anyone.get('/docs/no-such-file')).headers['content-type']).toBe('text/html; charset=utf-8');
    expect((await anyone.get('nothing')).headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test('W2: repeated guesses are refused with the time of the next attempt', async () => {
    await failLogins(host(), LOOPBACK, 'guessed', 10);
    const refused = await logIn({ username: 'guessed' });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.text).toContain('value="guessed"');
    await passLoginDelays(host());
  });

  test('W100: an address that only accepts forms leads a browser to the page above it', async () => {
    const mine = await session();
    for (const [path, above] of [
      ['/account/password', '/account'],
      ['/executions/5/terminate', '/executions/5'],
      ['/start/check', '/start'],
      ['/logout', '/'],
    ] as const) {
      const { status, headers } = await mine.get(path);
      expect([path, status, headers.location]).toEqual([path, 303, above]);
    }
    const program = new HttpClient(() => host().url(), { cookie: sessionOf(await logIn()) });
    expect((await program.get('/logout')).status).toBe(405);
  });

  test('W109: a form that is sent after the session has ended changes nothing, and the login page states this', async () => {
    const { status, headers } = await anyone.send('POST', '/executions/5/terminate', '');
    expect([status, headers.location]).toEqual([303, '/login?next=%2F']);
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    expect((await anyone.with({ cookie }).get('/login')).text).toContain('nothing was changed');
  });

  test('W166: a visitor whose session has ended reads this on the login page, and a new visitor does not', async () => {
    const mine = await session();
    await mine.send('POST', '/logout', '');
    const { status, headers } = await mine.get('/shop?a=b');
    expect([status, headers.location]).toEqual([303, '/login?next=%2Fshop%3Fa%3Db&ended']);
    expect((await mine.get(headers.location ?? '')).text).toContain('Your session has ended.');
    // A browser has dropped the cookie of an expired session, and an open page refreshes itself.
    const refreshed = await anyone.with({ 'berth-refresh': '1' }).get('/executions');
    expect(refreshed.headers.location).toBe('/login?ended');
    expect((await anyone.get('/login')).text).not.toContain('Your session has ended.');
  });

  test('W7: the navigation shows what the role allows', async () => {
    await addUser(host(), 'plain', 'secret words', 'user');
    const own = await session({ username: 'plain', password: 'secret words' });
    const { text } = await own.get('/executions');
    expect(text).toContain('href="/shop"');
    expect(text).not.toMatch(/href="\/(cluster|admin)"/);
    expect((await (await session()).get('/executions')).text).toMatch(
      /href="\/cluster"[\s\S]*href="\/admin"/,
    );
  });

  test('W7: a role without can_access_api is refused on every page, and can log out', async () => {
    await addUser(host(), 'barred', 'secret words', 'user');
    const own = await session({ username: 'barred', password: 'secret words' });
    await allowApi(host(), 'user', false);
    const refused = await own.get('/executions');
    await allowApi(host(), 'user', true);
    await expectAnswer(refused, 403, 'action="/logout"');
    expect((await own.send('POST', '/logout', '')).status).toBe(303);
  });

  test('W8: files are revalidated, and sent again only after a change; one has the licences of the packages', async () => {
    const licences = (await anyone.get('/assets/licences.txt')).text;
    expect(licences).toContain('This file holds the following packages.');
    const { status, headers } = await anyone.get('/assets/page.js');
    expect([status, headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
    const again = await anyone.with({ 'if-none-match': String(headers.etag) }).get('/assets/page.js');
    expect(again.status).toBe(304);
    for (const name of ['stamp', 'no.js', '..%2fworker.js', '%2e%2e/install.sh']) {
      expect((await anyone.get(`/assets/${name}`)).status).toBe(404);
    }
  });
});
