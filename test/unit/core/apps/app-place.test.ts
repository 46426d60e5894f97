import { expect, test } from 'vitest';
import { readConfig } from '../../../../control-plane/config.ts';
import { cookieForBrowser } from '../../../../control-plane/core/apps/app-cookies.ts';
import { headersForApp, headersForBrowser } from '../../../../control-plane/core/apps/app-headers.ts';
import {
  idOfPlace,
  namedBy,
  pathAt,
  placeAtHost,
  placeAtPath,
  readPathSite,
} from '../../../../control-plane/core/apps/app-place.ts';
import { appOriginOf, readAppSite } from '../../../../control-plane/core/apps/app-site.ts';
import { appsOf, sharedSite } from '../../../../control-plane/operations/apps/settings.ts';
import { pickOne, seededRandom } from '../../../support/tools/random.ts';
import { caseCount } from '../../../support/tools/random-cases.ts';

const read = readAppSite('https://*.apps.example.org');
if ('problem' in read) throw new Error(read.problem);
const site = read;
const paths = readPathSite('https://paths.example.net');
const local = readPathSite('http://paths.localhost:5001');
const APP = { port: 8080, serviceId: 12 };
const PROOF = 'x'.repeat(22);
const PREFIX = `/8080-12-${PROOF}`;
const AT_PATH = placeAtPath(paths, { ...APP, proof: PROOF, rest: '/' });
const AT_HOST = placeAtHost(site, APP);

test('H743: the host of paths is known in the one way in which browsers write it', () => {
  for (const host of ['paths', 'PATHS'].flatMap((name) =>
    ['', ':443', ':'].map((end) => `${name}.example.net${end}`),
  ))
    expect(namedBy({ site, paths }, host), host).toBe('paths');
  for (const host of ['paths.example.net.', 'paths.example.net:80', 'paths.example.net:8443'])
    expect(namedBy({ paths }, host), host).toBeNull();
  for (const host of ['x.paths.example.net', 'example.net', 'berth.example.org', '', 'paths.example.net.x'])
    expect(namedBy({ site, paths }, host), host).toBeUndefined();
  expect(namedBy({ paths: local }, 'paths.localhost:5001')).toBe('paths');
  expect(namedBy({ paths: local }, 'paths.localhost')).toBeNull();
  expect(namedBy({ site, paths }, '8080-12.apps.example.org')).toEqual(APP);
  expect(namedBy({ paths }, '8080-12.apps.example.org')).toBeUndefined();
});

test('H747: the cookies of a path are for it alone, with names that nobody can guess who does not know the path', () => {
  expect(AT_PATH).toEqual({
    ...{ name: APP, scheme: 'https', host: 'paths.example.net', origin: 'https://paths.example.net' },
    prefix: PREFIX,
    cookies: { pass: `__Secure-berth_app_${PROOF}`, visit: `__Secure-berth_visit_${PROOF}` },
  });
  expect(AT_HOST).toMatchObject({ origin: appOriginOf(site, APP), prefix: '' });
  expect(idOfPlace(AT_PATH)).toBe(`paths.example.net${PREFIX}`);
  expect(idOfPlace(AT_HOST)).toBe('8080-12.apps.example.org');
  const { pass, visit } = AT_PATH.cookies;
  const facts = { host: AT_PATH.host, scheme: 'https', address: undefined, username: 'ada' };
  const passed = headersForApp([['cookie', `${pass}=1; a=2; ${visit}=3`]], facts);
  expect(passed).toContainEqual(['cookie', 'a=2']);
});

test('H747: a visit leads to a path of its own place only', () => {
  for (const path of [`${PREFIX}/`, `${PREFIX}/tree?x=1`]) expect(pathAt(AT_PATH, path)).toBe(path);
  for (const path of [
    ...['/', '//evil.test', PREFIX, `${PREFIX}x/`, `/8081-12-${PROOF}/`, `//x${PREFIX}/`],
    ...[`${PREFIX}/../8081-12-${PROOF}/`, `${PREFIX}/%2e%2E/x`, `${PREFIX}\\..\\x`],
  ])
    expect(pathAt(AT_PATH, path), path).toBe(`${PREFIX}/`);
  expect(pathAt(AT_HOST, '/tree?x=%20#y')).toBe('/tree?x=%20#y');
});

test('H725: a visit leads to no other site, whatever browsers leave out of an address', () => {
  for (const path of [
    '//evil.test',
    '/\\evil',
    '/\t/evil',
    '/\n/evil',
    '/\r\\evil',
    '/.//evil',
    '//',
    'http://evil',
  ])
    expect(pathAt(AT_HOST, path), path).toBe('/');
});

test('H748: a cookie of an application at a path stays below that path, as what else it sets', () => {
  for (const [given, kept] of [
    ['a=1', 'a=1'],
    ['a=1; Path=/; HttpOnly', `a=1; HttpOnly; Path=${PREFIX}/`],
    ['a=1; path = /other/; Domain=example.net', `a=1; Path=${PREFIX}/`],
    [`a=1; Path=${PREFIX}`, `a=1; Path=${PREFIX}`],
    [`a=1; Path=${PREFIX}/lab; Secure`, `a=1; Secure; Path=${PREFIX}/lab`],
    [`a=1; Path=${PREFIX}x`, `a=1; Path=${PREFIX}/`],
    [`a=1; Path=${PREFIX}/; Path=/`, `a=1; Path=${PREFIX}/`],
    ['a=1; Path=/; Path=x', 'a=1'],
    ['a=1; Path', 'a=1'],
    [`__Secure-berth_app_${PROOF}=1; Path=${PREFIX}/; Secure`, undefined],
  ])
    expect(cookieForBrowser(given ?? '', PREFIX), given).toBe(kept);
  const headers = headersForBrowser(
    [
      ['Set-Cookie', 'a=1; Path=/'],
      ['Service-Worker-Allowed', '/'],
    ],
    PREFIX,
  );
  expect(headers.slice(0, -2)).toEqual([['set-cookie', `a=1; Path=${PREFIX}/`]]);
});

test('H748: whatever path a cookie has, browsers keep it below the path of its application', () => {
  const random = seededRandom(748);
  const pieces = [
    ...['Path=', 'path =', 'PATH=', ' ', '\t', ';', '=', '"', '/', '..', PREFIX, `${PREFIX}/`, '\u00a0', 'x'],
    ...['Path', '; Path=/', ';path=/other', 'Path=/;'],
  ];
  let narrowed = 0;
  for (let n = 0; n < caseCount(1_000); n += 1) {
    const text = `a=1;${Array.from({ length: 1 + Math.floor(random() * 8) }, () => pickOne(random, pieces)).join('')}`;
    const [, ...attributes] = (cookieForBrowser(text, PREFIX) ?? '').split(';');
    // As browsers parse them (RFC 6265bis, 5.6).
    const trimmed = (part: string) => part.replace(/^[ \t]+|[ \t]+$/g, '');
    const path = attributes
      .map((one): [string, string] => {
        const [name = '', ...value] = one.split('=');
        return [trimmed(name).toLowerCase(), trimmed(value.join('='))];
      })
      .findLast(([name]) => name === 'path')?.[1];
    if (path === undefined || !path.startsWith('/')) continue;
    narrowed += 1;
    expect(path === PREFIX || path.startsWith(`${PREFIX}/`), text).toBe(true);
  }
  expect(narrowed).toBeGreaterThan(100);
});

test('H743: visitors log in at BERTH_PUBLIC_URL, and a shared site is reported with its setting', () => {
  const BERTH_APPS_PATHS = 'https://paths.example.org';
  expect(() => readConfig({ BERTH_APPS_PATHS })).toThrow(
    'BERTH_PUBLIC_URL: must be set if BERTH_APPS_PATHS is',
  );
  const over = (scheme: string) =>
    readConfig({ BERTH_APPS_PATHS, BERTH_PUBLIC_URL: `${scheme}://berth.example.org` });
  expect(() => over('http')).toThrow('another domain than BERTH_APPS_PATHS');
  const settings = appsOf(over('https'));
  if (!settings) throw new Error('no applications');
  expect(settings.sharesSite).toBe(true);
  expect(sharedSite(settings)).toEqual({
    ...{ applications: 'paths.example.org', berth: 'berth.example.org' },
    advice: 'give BERTH_APPS_PATHS a domain of its own',
  });
  const apart = readConfig({ BERTH_APPS_PATHS, BERTH_PUBLIC_URL: 'https://berth.example.net' });
  expect(appsOf(apart)?.sharesSite).toBe(false);
});
