import { expect, test } from 'vitest';
import {
  cookieForBrowser,
  cookieIn,
  cookiesOfApp,
  hasSeveral,
} from '../../../../control-plane/core/apps/app-cookies.ts';
import { headersForApp, headersForBrowser } from '../../../../control-plane/core/apps/app-headers.ts';
import { pickOne, seededRandom } from '../../../support/tools/random.ts';
import { caseCount } from '../../../support/tools/random-cases.ts';

const TOKEN = `berth_pat_${'x'.repeat(64)}`;
const FACTS = {
  host: '8080-12.apps.example.org',
  scheme: 'https',
  address: '192.0.2.7',
  username: 'ada lovelace',
};
const toApp = (...headers: [string, string][]) => headersForApp(headers, FACTS);
const STATED = toApp();
const words = (text: string): string[] => text.trim().split(/\s+/);

test('H727: an application gets the host, the client and the user from Berth alone', () => {
  expect(STATED).toEqual([
    ['host', '8080-12.apps.example.org'],
    ['x-forwarded-for', '192.0.2.7'],
    ['x-forwarded-host', '8080-12.apps.example.org'],
    ['x-forwarded-proto', 'https'],
    ['x-berth-user', 'ada%20lovelace'],
  ]);
  // The last lines: what proxies with a login state of their users, and what CGI turns into HTTP_PROXY.
  for (const name of words(`
    Host X-Forwarded-For X-Forwarded-Proto X-Forwarded-Prefix Forwarded X-Real-IP Via
    X-Berth-User X_Berth_User x_forwarded_for X-Forwarded_For X.Berth.User CF-Connecting-IP
    Connection Keep-Alive TE Transfer-Encoding Upgrade Proxy-Authorization Expect
    X-Original-URL X-Rewrite-URL True-Client-IP Proxy-Connection
    Remote-User X-Remote-User X-Remote-Group X-Auth-Request-Email X-WebAuth-User
    X-Authenticated-User X-SSL-Client-DN SSL-Client-Cert X-Goog-IAP-JWT-Assertion Proxy`))
    expect(toApp([name, 'chosen by the client']), name).toEqual(STATED);
  expect(toApp(['X-Auth-Token', '1'])).toContainEqual(['x-auth-token', '1']);
  expect(toApp(['Connection', 'close, X-Secret'], ['X-Secret', '1'], ['Accept', '*/*'])).toEqual([
    STATED[0],
    ['accept', '*/*'],
    ...STATED.slice(1),
  ]);
  expect(headersForApp([], { ...FACTS, address: undefined }).map(([name]) => name)).not.toContain(
    'x-forwarded-for',
  );
});

test("H726: no credential of Berth reaches an application, and the application's own do", () => {
  for (const value of [
    ...['Basic YWRtaW46eA==', 'basic YWRtaW46eA==', '  BASIC x', 'Bearer eyJhbGciOi', 'bearer\tx', 'Bearer'],
    ...[`token ${TOKEN}`, `Token token="${TOKEN}"`, TOKEN, `Custom key=${TOKEN}`, 'token berth_x'],
  ])
    expect(toApp(['Authorization', value]), value).toEqual(STATED);
  expect(toApp(['X-Api-Key', TOKEN])).toEqual(STATED);
  expect(toApp(['Authorization', 'token 0123456789abcdef'])).toContainEqual([
    'authorization',
    'token 0123456789abcdef',
  ]);
  const cookies =
    '__Host-berth_app=1; a=b; berth_session=2; __Host-berth_session=3;__host-BERTH_x=4; =berth_session=5; __Secure-berth_x=6; _xsrf="7"';
  expect(toApp(['Cookie', cookies])).toContainEqual(['cookie', 'a=b; _xsrf="7"']);
  expect(toApp(['Cookie', '__Host-berth_app=1'])).toEqual(STATED);
  expect(cookiesOfApp(`a=${TOKEN}; b=2`)).toBe('b=2');
});

test('H725: Berth reads the cookie that has exactly its name, and none if there are two', () => {
  const name = '__Host-berth_app';
  expect(cookieIn('a=1; __Host-berth_app=x; b=2', name)).toBe('x');
  for (const header of [
    ...[undefined, '', 'a=1', '__host-berth_app=x', '__Host-berth_app2=x', '=__Host-berth_app=x'],
    ...['__Host-berth_app', '__Host-berth_app=x; __Host-berth_app=y'],
    ...SPACES.flatMap((space) => [`${space}__Host-berth_app=x`, `a=1; ${space}__Host-berth_app${space}=x`]),
  ])
    expect(cookieIn(header, name), header).toBeUndefined();
  for (const space of SPACES) {
    const header = `__Host-berth_app=mine; ${space}__Host-berth_app=theirs`;
    expect([cookieIn(header, name), hasSeveral(header, name)], header).toEqual(['mine', false]);
  }
  expect(hasSeveral('\t__Host-berth_app =x ;__Host-berth_app=\ty', name)).toBe(true);
  expect(cookieIn('\t__Host-berth_app =x ;__Host-berth_app=\tx', name)).toBe('x');
});

/** What `trim` of JavaScript leaves out and a browser keeps in the name of a cookie. */
const SPACES = [
  ...['\u00a0', '\ufeff', '\u2003', '\u3000', '\u2028', '\u1680', '\u202f', '\u0085', '\v', '\f', '\r', '\n'],
  ...[' \u00a0', '\u00a0 ', '\u00c2\u00a0'],
];

test('H728: what an application sets stays at its host name', () => {
  const kept = headersForBrowser([
    ['Content-Type', 'text/html'],
    ['Location', 'https://elsewhere.test/'],
    ['Access-Control-Allow-Origin', '*'],
    ['Set-Cookie', 'a=1; Path=/; Domain=apps.example.org; HttpOnly'],
    ['set-cookie', 'b=2;DOMAIN = .example.org;Secure'],
    ['Set-Cookie', '__Host-c=3; Path=/; Secure'],
    ['Set-Cookie', '__Host-berth_app=4; Path=/; Secure'],
    ['Set-Cookie', '__HOST-Berth_session=5; Path=/; Secure'],
    ['Set-Cookie', 'berth_session=6; Domain=example.org'],
    ['Set-Cookie', '=__Host-berth_app=7'],
    ['Set-Cookie', '__Host-berth_app'],
    ['Clear-Site-Data', '"cookies"'],
    ['Strict-Transport-Security', 'max-age=1; includeSubDomains'],
    ['Alt-Svc', 'h3=":443"'],
    ['NEL', '{}'],
    ['Report-To', '{}'],
    ['Public-Key-Pins', 'x'],
    ['Service-Worker-Allowed', '/'],
    ['Status', '200 Chosen'],
    ['X-Hono-Already-Sent', 'true'],
    ['Connection', 'X-Hop, close'],
    ['X-Hop', '1'],
    ['Transfer-Encoding', 'chunked'],
  ]);
  expect(kept).toEqual([
    ['content-type', 'text/html'],
    ['location', 'https://elsewhere.test/'],
    ['access-control-allow-origin', '*'],
    ['set-cookie', 'a=1; Path=/; HttpOnly'],
    ['set-cookie', 'b=2;Secure'],
    ['set-cookie', '__Host-c=3; Path=/; Secure'],
    ['content-security-policy', "frame-ancestors 'self'"],
    ['origin-agent-cluster', '?1'],
  ]);
});

test('H702: no header of an application gives an order to the proxy in front of Berth', () => {
  const none = headersForBrowser([]);
  for (const name of words(`
    X-Accel-Redirect x-accel-expires X-ACCEL-CHARSET X-Accel-Buffering X-Accel-Limit-Rate X_Accel_Redirect
    X-Sendfile X-SENDFILE2 X-Sendfile-Temporary X-Sendfile-Range X-LIGHTTPD-send-file X-LIGHTTPD-send-tempfile
    X-LiteSpeed-Location X-LiteSpeed-Purge X-Reproxy-URL X-REPROXY-FILE X-Envoy-Immediate-Health-Check-Fail
    Surrogate-Control CDN-Cache-Control Cloudflare-CDN-Cache-Control Fastly-CDN-Cache-Control Edge-Control
    X-Archive-Files X_Archive_Name X-ESI`))
    for (const prefix of ['', '/a-path'])
      expect(headersForBrowser([[name, '/internal/secret']], prefix), name).toEqual(none);
  expect(
    headersForBrowser([
      ['X-Accelerated-By', '1'],
      ['X-Sender', '2'],
      ['Cache-Control', 'no-store'],
    ]),
  ).toEqual([['x-accelerated-by', '1'], ['x-sender', '2'], ['cache-control', 'no-store'], ...none]);
  // Nor does a client choose what a program behind such a proxy takes for the proxy's.
  for (const name of ['X-Accel-Mapping', 'X-Sendfile-Type', 'Client-IP', 'X-Envoy-Original-Path'])
    expect(toApp([name, '/=/']), name).toEqual(STATED);
});

test('H728: nothing that a browser keeps for the whole origin passes, at a path either', () => {
  for (const name of ['Reporting-Endpoints', 'Use-As-Dictionary', 'Accept-CH', 'Set-Login', 'NEL'])
    for (const prefix of ['', '/a-path'])
      expect(headersForBrowser([[name, 'x']], prefix), name).toEqual(headersForBrowser([]));
});

test('H728: whatever cookie an application sets, none has a domain or a name of Berth', () => {
  const random = seededRandom(720);
  const pieces = [
    ...['=', ';', ' ', '\t', ',', '"', 'a', 'x', '%3D', '\u00a0', '\r', '\n', '\0', 'é', '.example.org'],
    ...['Domain', 'domain=', 'DOMAIN =x', '__Host-', '__host-', '__Secure-', 'Path=/'],
    ...['berth_app', 'BERTH_session', 'berth_'],
  ];
  let passed = 0;
  for (let n = 0; n < caseCount(1_000); n += 1) {
    const text = Array.from({ length: 1 + Math.floor(random() * 9) }, () => pickOne(random, pieces)).join('');
    const cookie = cookieForBrowser(text);
    if (cookie === undefined) continue;
    passed += 1;
    const [pair = '', ...attributes] = cookie.split(';');
    // As browsers parse them (RFC 6265bis, 5.6).
    const name = pair.slice(0, pair.indexOf('=')).replace(/^[ \t]+|[ \t]+$/g, '');
    expect(pair.indexOf('='), text).toBeGreaterThan(0);
    expect(name.trim(), text).not.toMatch(/^(__Host-|__Secure-)?berth_/i);
    for (const one of attributes) expect(one.split('=')[0]?.trim().toLowerCase(), text).not.toBe('domain');
    expect(cookie, text).not.toMatch(/[\r\n\0]/);
  }
  expect(passed).toBeGreaterThan(100);
});
