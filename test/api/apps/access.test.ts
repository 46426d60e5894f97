/** Host names of web applications: who gets in, and that neither they nor Berth answer for the other. */
import { beforeAll, expect, test } from 'vitest';
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { AppVisitor, VISIT } from '../../support/clients/app-visitor.ts';
import { HttpClient } from '../../support/clients/http-client.ts';
import { answerOn, dial } from '../../support/clients/raw-http.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { hosts, onHostsWith } from '../../support/hosts/hosts.ts';

const PASSWORD = 'correct: horse';
const PORT: ServiceDescription['ports'][number] = {
  ...{ name: 'web', port_number: 8080, protocol: 'tcp', url_template: 'http://{ip_port}/' },
};
const DEBUG = { ...PORT, name: 'debug', port_number: 9229, url_template: 'tcp://{ip_port}/' };
const ENV = {
  BERTH_APPS_URL: 'https://*.apps.example-apps.org',
  BERTH_PUBLIC_URL: 'https://berth.example.org',
};
const nameOf = (serviceId: number, port = 8080) => `${port}-${serviceId}.apps.example-apps.org`;
const APP_COOKIE = /__Host-berth_app=([^;]+)/;

onHostsWith(ENV, hosts, (host) => {
  let id: number;
  let app: string;
  let ada: WebClient;

  // Without a host, so that the application waits in the queue.
  beforeAll(async () => {
    await addUser(host(), 'ada', PASSWORD, 'user');
    await addUser(host(), 'bob', PASSWORD, 'user');
    const api = new ApiClient(host, 'ada', PASSWORD);
    const execution = await api.submit(application(service({ ports: [PORT, DEBUG] })));
    id = (await api.execution(execution)).services[0] ?? 0;
    app = nameOf(id);
    ada = await WebClient.logIn(host, 'ada', PASSWORD);
  });
  const at = (visitor: AppVisitor, headers: Record<string, string> = VISIT, method = 'GET') =>
    visitor.send(app, '/', headers, method);
  const admitted = async (session = ada) => {
    const visitor = new AppVisitor(host);
    expect((await visitor.open(app, session)).status).toBe(503);
    return visitor;
  };
  const anyone = () => new AppVisitor(host);

  test("H724: a first visit goes by Berth's own address, and comes back with a cookie for this host name", async () => {
    const visitor = anyone();
    const first = await visitor.send(app, '/tree?x=1');
    expect(first.headers.location).toMatch(
      /^https:\/\/berth\.example\.org\/apps\/open\?app=8080-\d+&visit=[\w-]{43}&next=/,
    );
    expect(first.headers['set-cookie']?.[0]).toMatch(
      /^__Host-berth_visit=[\w-]{43}; Max-Age=3600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const reply = await visitor.send(app, await visitor.ticket(app, ada, '/tree?x=1'));
    expect([reply.status, reply.headers.location]).toEqual([303, '/tree?x=1']);
    expect(reply.headers['referrer-policy']).toBe('no-referrer');
    const [, maxAge] =
      /^__Host-berth_app=\S+; Max-Age=(\d+); Path=\/; HttpOnly; Secure; SameSite=Lax$/.exec(
        reply.headers['set-cookie']?.[0] ?? '',
      ) ?? [];
    expect(Number(maxAge)).toBeGreaterThan(11 * 3_600);
    expect(Number(maxAge)).toBeLessThanOrEqual(12 * 3_600);
    expect((await at(visitor)).status).toBe(503);
  });
  test('W215: a visitor without a session logs in on the way, and goes on by a page, not by a redirect of the form', async () => {
    const visitor = anyone();
    const path = await visitor.begin(app, '/lab');
    const web = new HttpClient(() => host().url(), { accept: 'text/html' });
    const { headers } = await web.get(path);
    expect(headers.location).toBe(`/login?next=${encodeURIComponent(path)}`);
    const page = await new WebClient(web.with({ 'sec-fetch-site': 'same-origin' }), ada.cookie).get(path);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('Open main0')]);
    const [, url = ''] = /^0; url=(\S+)$/.exec(String(page.headers.refresh)) ?? [];
    expect(new URL(url).host).toBe(app);
    const { pathname, search } = new URL(url);
    expect((await visitor.send(app, pathname + search)).headers.location).toBe('/lab');
  });
  test('W215: a link that no application has made opens nothing', async () => {
    const visit = 'v'.repeat(43);
    for (const [query, status] of [
      [`app=8080-${id}&visit=${visit}&next=https://evil.test/`, 400],
      [`app=8080-${id}&next=/`, 400],
      [`app=8080-999999&visit=${visit}`, 404],
      [`app=08080-${id}&visit=${visit}`, 404],
      [`app=9229-${id}&visit=${visit}`, 404],
    ] as const)
      expect((await ada.get(`/apps/open?${query}`)).status, query).toBe(status);
  });
  test('H725: a ticket works once, within its host name, in the browser that began the visit, and beside that of another page', async () => {
    const visitor = anyone();
    const ticket = await visitor.ticket(app, ada);
    const stranger = anyone();
    expect((await stranger.send(app, ticket)).status).toBe(400);
    await stranger.begin(app);
    expect((await stranger.send(app, ticket)).status).toBe(400);
    expect(stranger.cookiesFor(app)).not.toMatch(APP_COOKIE);
    const other = nameOf(id + 1);
    visitor.keep(other, visitor.cookiesFor(app));
    expect((await visitor.send(other, ticket)).status).toBe(400);
    expect((await visitor.send(app, ticket)).status).toBe(303);
    const again = await visitor.send(app, ticket);
    expect([again.status, again.text]).toEqual([400, expect.stringContaining('not made for this browser')]);
    expect((await visitor.send(app, `${ticket.slice(0, -2)}xx`)).status).toBe(400);
    const both = anyone();
    const [one, two] = [await both.ticket(app, ada, '/one'), await both.ticket(app, ada, '/two')];
    expect((await both.send(app, one)).headers.location).toBe('/one');
    expect((await both.send(app, two)).headers.location).toBe('/two');
  });

  test('H725: the cookie is worth nothing at another application or at Berth, and a second one of its name nothing', async () => {
    const visitor = await admitted();
    const [pair = '', value = ''] = APP_COOKIE.exec(visitor.cookiesFor(app)) ?? [];
    const elsewhere = anyone();
    elsewhere.keep(nameOf(id + 1), pair);
    expect((await elsewhere.send(nameOf(id + 1), '/', { accept: '*/*' })).status).toBe(401);
    for (const cookie of [pair, `berth_session=${value}`])
      expect((await new HttpClient(() => host().url(), { cookie }).get('execution')).status).toBe(401);
    const tossed = { accept: '*/*', cookie: `${pair}; ${pair}x` };
    expect((await at(anyone(), tossed)).status).toBe(401);
    // A page states it, since a login would lead back here without an end.
    const page = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' };
    for (const name of ['__Host-berth_app', '__Host-berth_visit']) {
      const several = await at(anyone(), { ...page, cookie: `${name}=x; a=b; ${name}=y` });
      expect(several).toMatchObject({
        status: 401,
        headers: { 'content-type': 'text/html; charset=utf-8' },
      });
      expect(several.text).toContain(`two cookies with the name ${name}`);
    }
    for (const cookie of [
      ada.cookie,
      ada.cookie.replace('berth_session', '__Host-berth_app'),
      pair.toLowerCase(),
    ])
      expect((await at(anyone(), { accept: '*/*', cookie })).status, cookie).toBe(401);
  });
  test('H730, H732: only the owner, who may operate others, and with `share: users` everybody who is logged in gets in, until it has ended', async () => {
    const bob = await WebClient.logIn(host, 'bob', PASSWORD);
    const open = async (session: WebClient, name = app) => session.get(await anyone().begin(name));
    const hidden = await open(bob);
    expect([hidden.status, hidden.text.includes('There is no such application.')]).toEqual([404, true]);
    expect((await open(bob, nameOf(999_999))).text).toBe(hidden.text);
    expect((await open(await WebClient.logIn(host))).status).toBe(303);
    const api = new ApiClient(host, 'ada', PASSWORD);
    const all = await api.submit({ ...application(service({ ports: [PORT] })), share: 'users' });
    const shared = nameOf((await api.execution(all)).services[0] ?? 0);
    const visitor = anyone();
    expect((await visitor.open(shared, bob)).text).toContain('The application waits in the queue.');
    await api.terminate(all);
    const { status, headers, text } = await visitor.send(shared, '/');
    expect([status, headers.refresh, headers['retry-after']]).toEqual([410, undefined, undefined]);
    expect(text).toContain('The application has ended');
  });
  test('H724: whatever is no page gets 401 with the address where to log in, and no other credential helps', async () => {
    const secret = Buffer.from(`ada:${PASSWORD}`).toString('base64');
    for (const [method, headers] of [
      ['GET', { accept: '*/*' }],
      ['POST', { accept: 'text/html' }],
      ['GET', { ...VISIT, 'sec-fetch-dest': 'iframe' }],
      ['PROPFIND', { accept: '*/*' }],
      ['GET', { accept: '*/*', authorization: `Basic ${secret}`, cookie: ada.cookie }],
    ] as const) {
      const reply = await at(anyone(), headers, method);
      const message = `Log in first: open https://${app}/ in this browser.`;
      expect([reply.status, reply.text.includes(message)], method).toEqual([401, true]);
      expect(reply.headers['set-cookie']).toBeUndefined();
    }
    expect((await at(anyone(), { accept: '*/*' })).json()).toMatchObject({ log_in: `https://${app}/` });
    expect((await at(anyone(), { accept: 'text/html', authorization: `Basic ${secret}` })).status).toBe(303);
  });
  test('H780: a form gets its refusal as a page: of another site, without a session, and while the application is not up', async () => {
    const form = { ...VISIT, 'sec-fetch-site': 'cross-site', origin: 'https://other.example' };
    const own = { ...VISIT, 'sec-fetch-site': 'same-origin', origin: `https://${app}` };
    for (const [visitor, headers, status, text] of [
      [await admitted(), form, 403, 'another application or another site'],
      [anyone(), own, 401, '<a href="/">Open the application</a>'],
      [await admitted(), own, 503, 'The cluster has no host'],
    ] as const) {
      const page = await at(visitor, headers, 'POST');
      expect([page.status, page.headers['content-type'], page.headers.refresh]).toEqual([
        ...[status, 'text/html; charset=utf-8', undefined],
      ]);
      expect(page.text).toContain(text);
      const reply = await at(visitor, { ...headers, accept: '*/*' }, 'POST');
      expect([reply.status, reply.headers['content-type']]).toEqual([
        ...[status, 'application/json; charset=utf-8'],
      ]);
    }
  });
  test('H735: service workers and paths of Berth are never passed on', async () => {
    const visitor = await admitted();
    expect((await visitor.send(app, '/sw.js', { accept: '*/*', 'service-worker': 'script' })).status).toBe(
      403,
    );
    for (const path of ['/.berth/', '/.berth/other', '/.berth/enter/x'])
      expect((await visitor.send(app, path)).status, path).toBe(404);
    expect((await visitor.send(app, '/.berth/enter', VISIT, 'POST')).status).toBe(404);
  });
  test('H731: an application that is not up gives a page that goes on by itself, and programs get JSON', async () => {
    const visitor = await admitted();
    const page = await at(visitor);
    expect([page.status, page.headers.refresh, page.headers['retry-after']]).toEqual([503, '3', '3']);
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'nonce-[\w-]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(page.text).toContain('The cluster has no host');
    expect(page.text).not.toMatch(/<script|src=|href=/);
    const reply = await at(visitor, { accept: 'application/json' });
    expect([reply.status, reply.headers.refresh, reply.headers['retry-after']]).toEqual([
      503,
      undefined,
      '3',
    ]);
    expect(reply.json<{ message: string }>().message).toContain('The cluster has no host');
  });
  test('H722: at the host of an application nothing of Berth answers, and nothing that a program of Berth would take', async () => {
    const ask = async (target: string, name: string, more = '') => {
      const head = `GET ${target} HTTP/1.1\r\nHost: ${name}\r\nAccept: */*\r\n${more}Connection: close\r\n\r\n`;
      return (await answerOn(dial(host().url(), head))).status;
    };
    for (const path of [
      '/api/0.7/info',
      '/login',
      '/healthz',
      '/assets/berth.css',
      '/apps/open',
      '/metrics',
      '/native/openapi.json',
    ]) {
      expect(await ask(path, app), path).toBe(401);
      expect(await ask(path, 'x.apps.example-apps.org'), path).toBe(404);
    }
    for (const name of [`${app}.`, `x.${app}`, `${app}:8443`, `0${app}`])
      expect(await ask('/api/0.7/info', name), name).toBe(404);
    expect(await ask('/api/0.7/info', app.toUpperCase())).toBe(401);
    expect(
      await ask(
        '/agent/v1/connect',
        app,
        'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n',
      ),
    ).toBe(401);
    expect(await ask('/api/0.7/info', '127.0.0.1')).toBe(200);
  });
  test('H733: a web server that gets certificates learns which names have an application, and nothing else', async () => {
    const web = new HttpClient(() => host().url());
    const ask = async (domain: string, headers = {}) => {
      const { status, text } = await web.with(headers).get(`/apps/ask?domain=${encodeURIComponent(domain)}`);
      return [status, text];
    };
    expect(await ask(app)).toEqual([200, '']);
    for (const domain of [
      '',
      'example.org',
      nameOf(999_999),
      nameOf(id, 9229),
      nameOf(id, 1),
      `${app}.`,
      `${app}:443`,
      `x.${app}`,
      'a'.repeat(5_000),
    ])
      expect(await ask(domain), domain).toEqual([404, '']);
    for (const name of ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'])
      expect(await ask(app, { [name]: '192.0.2.1' }), name).toEqual([404, '']);
  });
  test('H734: the metrics count requests by what became of them', async () => {
    const metrics = await new AccountClient(host).admin.get('/metrics');
    for (const result of ['waiting', 'ended', 'log-in', 'unauthenticated', 'refused', 'unknown'])
      expect(metrics.text).toMatch(new RegExp(`berth_app_requests_total\\{result="${result}"\\} [1-9]`));
    expect(metrics.text).toContain('berth_app_requests_total{result="passed"} 0');
  });
  test('H720: over https, the session is in a cookie that no other host can set, and in no other', async () => {
    const https = new HttpClient(() => host().url(), { 'x-forwarded-proto': 'https' });
    const form = new URLSearchParams({ username: 'ada', password: PASSWORD }).toString();
    const { headers } = await https.send('POST', '/login', form);
    const cookie = headers['set-cookie']?.[0] ?? '';
    expect(cookie).toMatch(
      /^__Host-berth_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const pair = cookie.split(';')[0] ?? '';
    expect((await https.with({ cookie: pair }).get('execution')).status).toBe(200);
    expect((await https.with({ cookie: pair.replace('__Host-', '') }).get('execution')).status).toBe(401);
    expect((await https.with({ cookie: pair.replace('__Host-', '__host-') }).get('execution')).status).toBe(
      401,
    );
    const out = await https.with({ cookie: `${ada.cookie}; ${pair}` }).send('POST', '/logout');
    expect(out.headers['set-cookie']?.find((one) => one.startsWith('__Host-berth_session='))).toMatch(
      /=; Max-Age=0; Path=\/; Secure/,
    );
    expect((await https.with({ cookie: pair }).get('execution')).status).toBe(401);
  });
});
