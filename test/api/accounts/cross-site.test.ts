/** Requests that another web site makes a browser send, with what credentials the browser adds by itself. */
import { beforeAll, expect, test } from 'vitest';
import { BROWSER, FOREIGN } from '../../support/attacks/foreign-requests.ts';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { answerOn, dial } from '../../support/clients/raw-http.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { eitherGroup, onHosts } from '../../support/hosts/hosts.ts';

const PASSWORD = 'a fair password';

const NAVIGATION = { ...BROWSER, accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

const UNSAFE: readonly [method: string, path: string][] = [
  ['POST', 'execution'],
  ['DELETE', 'execution/999'],
  ['DELETE', 'execution/delete/999'],
  ['POST', 'app_validate'],
];
const UNSAFE_OF = {
  A: [
    ['POST', 'oauth/token'],
    ['DELETE', 'oauth/revoke/1'],
  ],
  B: [
    ['POST', 'user'],
    ['POST', 'user/1'],
    ['DELETE', 'role/999'],
    ['POST', 'quota/1'],
  ],
} as const;

const setCookie = (reply: Reply): string => reply.headers['set-cookie']?.join() ?? '';

onHosts(eitherGroup, (host, { variant }) => {
  const anonymous = new HttpClient(() => host().url());
  const withPassword = anonymous.with(basic('alice', PASSWORD));
  const unsafe = [...UNSAFE, ...UNSAFE_OF[variant as 'A' | 'B']];
  const withCookie = async () => {
    const cookie = setCookie(await withPassword.get('login'));
    return anonymous.with({ cookie: cookie.split(';')[0] ?? '' });
  };

  beforeAll(() => addUser(host(), 'alice', PASSWORD, 'admin'));

  test('H21: changes from another site are 403, whatever the credential, and those of Berth itself or a program are served', async () => {
    const clients = [withPassword, await withCookie()];
    const own = { origin: host().url() };
    for (const [method, path] of unsafe) {
      for (const headers of FOREIGN)
        for (const client of [...clients, anonymous]) {
          const reply = await client.with(headers).send(method, path, '{}');
          expect([reply.status, setCookie(reply)], `${path} ${JSON.stringify(headers)}`).toEqual([403, '']);
        }
      for (const headers of [{}, own, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }])
        for (const client of clients) {
          const { status } = await client.with(headers).send(method, path, '[]');
          // The requests are invalid, which is found only after the check of the site.
          expect([200, 400, 401, 404, 409], `${path} ${JSON.stringify(headers)}`).toContain(status);
        }
    }
  });

  test('H801: behind a proxy that loses the port, the refusal states what arrived and what the proxy must pass on', async () => {
    const { hostname } = new URL(host().url());
    const reply = await withPassword.with({ origin: `http://${hostname}:9` }).delete('execution/999');
    expect(reply.status).toBe(403);
    for (const part of [
      `http://${hostname}:9 (Origin)`,
      `${host().url()} (Host)`,
      'Host header with its port',
    ])
      expect(reply.text).toContain(part);
    const foreign = await withPassword.with({ 'sec-fetch-site': 'cross-site' }).delete('execution/999');
    expect(foreign.json()).toEqual({ code: 'forbidden', message: 'The request comes from another site.' });
  });

  test.each([
    ['berth.example.org:443', 'https://berth.example.org', true],
    ['berth.example.org', 'https://berth.example.org', true],
    ['berth.example.org:80', 'http://berth.example.org', true],
    ['berth.example.org:8443', 'https://berth.example.org:8443', true],
    ['berth.example.org:8443', 'https://berth.example.org', false],
    ['berth.example.org', 'https://berth.example.org:8443', false],
    ['berth.example.org:443', 'http://berth.example.org', false],
    ['other.example.org:443', 'https://berth.example.org', false],
  ])('H801: a request for %s from %s is its own: %s', async (name, origin, isOwn) => {
    const head = `DELETE /api/0.7/execution/999 HTTP/1.1\r\nHost: ${name}\r\nOrigin: ${origin}\r\n`;
    const { status } = await answerOn(dial(host().url(), `${head}Connection: close\r\n\r\n`));
    expect(status).toBe(isOwn ? 401 : 403);
  });

  test('H21: a refused request from another site does not count as a failed login', async () => {
    const guess = anonymous.with(basic('alice', 'a wrong guess')).with(FOREIGN[0]);
    for (let n = 0; n < 12; n++) expect((await guess.delete('execution/999')).status).toBe(403);
    expect((await anonymous.with(basic('alice', PASSWORD)).get('login')).status).toBe(200);
  });

  test('H21: another site may cause reads, whose answers it cannot see', async () => {
    for (const client of [await withCookie(), withPassword]) {
      const reply = await client.with(FOREIGN[0]).get('execution');
      expect(reply.status).toBe(200);
      expect(reply.headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  test.each([
    ...FOREIGN,
    NAVIGATION,
    { ...NAVIGATION, 'sec-fetch-site': 'none' },
    { ...NAVIGATION, 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
    { ...BROWSER, accept: 'image/avif,image/webp,*/*;q=0.8' },
    { ...BROWSER, accept: '*/*', referer: 'http://evil.example/' },
  ])('H320: Basic credentials with %j set no cookie', async (headers) => {
    for (const path of ['login', 'execution'])
      for (const method of ['GET', 'HEAD']) {
        const reply = await withPassword.with(headers).send(method, path);
        expect([reply.status, setCookie(reply)], path).toEqual([200, '']);
      }
  });

  test.each([
    {},
    { accept: '*/*', 'user-agent': 'curl/8.14.1' },
    { accept: '*/*', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node' },
    { ...BROWSER, accept: 'application/json', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' },
  ])('H17: Basic credentials of a program or of this site with %j set the cookie', async (headers) => {
    expect(setCookie(await withPassword.with(headers).get('login'))).toContain('berth_session=');
  });
});
