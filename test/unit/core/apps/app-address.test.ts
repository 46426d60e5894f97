import { describe, expect, test } from 'vitest';
import { readConfig, readNodeConfig } from '../../../../control-plane/config.ts';
import { idCode } from '../../../../control-plane/coordinator/runtime/id-code.ts';
import {
  type AppAddresses,
  appAddress,
  appKey,
  type Port,
  pathAddress,
  pathApp,
  proxyPath,
  sharedWithUsers,
} from '../../../../control-plane/core/apps/app-address.ts';
import { type AppSite, readAppSite } from '../../../../control-plane/core/apps/app-site.ts';
import { isPathApp } from '../../../../control-plane/operations/app-addresses.ts';

const siteOf = (setting: string): AppSite => {
  const site = readAppSite(setting);
  if ('problem' in site) throw new Error(site.problem);
  return site;
};
const port = (changes: Partial<Port> = {}): Port => ({
  ...{ name: 'Page', port_number: 8888, protocol: 'tcp', url_template: 'http://{ip_port}/' },
  ...changes,
});
const KEY = 'a key of the database';
const keyOf = (ids: { service: number; port: number }) => appKey(ids, idCode.appProofOf(KEY, ids));
const HOSTS = 'https://*.apps.example.org';
const hosts = siteOf(HOSTS);
const paths = { origin: 'https://paths.example.net', keyOf };

describe('H741: the host name of a web application', () => {
  test.each([
    [HOSTS, 'https://8888-12.apps.example.org/'],
    ['http://*.apps.localhost:5001', 'http://8888-12.apps.localhost:5001/'],
    ['https://*.apps.example.org:443', 'https://8888-12.apps.example.org/'],
  ])('H741: beneath %s', (setting, address) => {
    expect(appAddress({ hosts: siteOf(setting) }, 12, port())).toBe(address);
  });

  test.each([
    ['http://{ip_port}/', '/'],
    ['http://{ip_port}', '/'],
    ['HTTP://{ip_port}/lab?a={proxy_path}', '/lab?a=/'],
    ['http://{ip_port}?a', '?a'],
    ['http://{ip_port}@elsewhere.example.org/', '/@elsewhere.example.org/'],
    ['http://{ip_port}.elsewhere.example.org/', '/.elsewhere.example.org/'],
    ['http://{ip_port}{proxy_path}', '/'],
    ['http://elsewhere.example.org/', '/'],
  ])('H741: the template %s leads to %s of the host name', (url_template, path) => {
    const url = appAddress({ hosts }, 12, port({ url_template }));
    expect(url).toBe(`https://8888-12.apps.example.org${path}`);
    expect(new URL(url ?? '').host).toBe('8888-12.apps.example.org');
  });

  test.each<Partial<Port>>([
    { protocol: 'udp' },
    { url_template: 'https://{ip_port}/' },
    { url_template: 'tcp://{ip_port}' },
    { url_template: '{ip_port}' },
  ])('H741: a port with %j has none, nor has any without BERTH_APPS_URL', (changes) => {
    expect(appAddress({ hosts }, 12, port(changes))).toBeUndefined();
    expect(appAddress({}, 12, port())).toBeUndefined();
    expect(pathAddress({ paths }, 12, port({ ...changes, proxy: true }))).toBeUndefined();
  });
});

describe('H745: the path of a web application', () => {
  const all: AppAddresses = { hosts, paths };
  const proxied = port({ proxy: true, url_template: 'http://{ip_port}{proxy_path}' });

  test('H745: only ports with proxy have one, and what it leads to is read from it again', () => {
    const path = proxyPath(all, 12, proxied) ?? '';
    expect(path).toMatch(/^\/8888-12-[\w-]{22}$/);
    expect(pathAddress(all, 12, proxied)).toBe(`https://paths.example.net${path}/`);
    expect(appAddress(all, 12, proxied)).toBe(`https://8888-12.apps.example.org${path}`);
    for (const [given, rest] of [
      [path, ''],
      [`${path}/`, '/'],
      [`${path}/a/b`, '/a/b'],
    ] as const)
      expect(pathApp(given)).toMatchObject({ serviceId: 12, port: 8888, rest });
    expect(proxyPath(all, 12, port())).toBeUndefined();
    expect(proxyPath({ hosts }, 12, proxied)).toBeUndefined();
  });

  test.each([
    '/',
    '',
    '/8888-12',
    '/8888-12-short/',
    '/0-12-',
    '/08-12-',
    '/65536-12-',
    '//8888-12-',
    '/8888-0-',
  ])('H745: %j names no application', (path) => {
    const proof = 'x'.repeat(22);
    expect(pathApp(path)).toBeUndefined();
    if (path.endsWith('-')) expect(pathApp(`${path}${proof}/`)).toBeUndefined();
  });

  test('H745: a key is worth nothing for another port, service or database, and a proof of ids is none', async () => {
    const deps = (key: string) => ({
      db: { query: async () => [{ value: key }] } as never,
      appPlaces: { paths: paths.origin, proofOf: idCode.appProofOf },
    });
    const found = pathApp(proxyPath(all, 12, proxied) ?? '');
    if (!found) throw new Error('no application');
    expect(await isPathApp(deps(KEY), found)).toBe(true);
    expect(await isPathApp(deps('another key'), found)).toBe(false);
    expect(await isPathApp(deps(KEY), { ...found, port: 8889 })).toBe(false);
    expect(await isPathApp(deps(KEY), { ...found, serviceId: 13 })).toBe(false);
    const ofIds = idCode.proofOf(KEY, { execution: 12, service: 8888 });
    expect(await isPathApp(deps(KEY), { ...found, proof: ofIds })).toBe(false);
    expect(await isPathApp({ ...deps(KEY), appPlaces: undefined }, found)).toBe(false);
  });
});

describe('H744: the settings', () => {
  const readAll = (env: Record<string, string>) => [readConfig(env), readNodeConfig(env)];

  test('H744: neither is set by default, and addresses lose a slash at their end', () => {
    expect(readConfig({}).BERTH_APPS_PATHS).toBeUndefined();
    const BERTH_PUBLIC_URL = 'https://berth.example.org';
    const config = readConfig({ BERTH_APPS_PATHS: 'https://paths.example.net/', BERTH_PUBLIC_URL });
    expect(config.BERTH_APPS_PATHS).toBe(paths.origin);
    readAll({
      BERTH_APPS_PATHS: 'http://paths.localhost:5001',
      BERTH_APPS_URL: 'http://*.apps.localhost:5001',
      BERTH_PUBLIC_URL: 'http://localhost:5001',
    });
  });

  test.each([
    ['paths.example.net', 'without a path'],
    ['https://paths.example.net/x', 'without a path'],
    ['https://user@paths.example.net', 'without a path'],
    ['https://paths.example.net:99999', 'without a path'],
    ['http://paths.example.net', 'must begin with https'],
    ['http://localhost:5002', 'another host name than Berth'],
    ['https://127.0.0.1', 'another host name than Berth'],
    ['https://0x7f.1', 'another host name than Berth'],
    ['https://berth.example.org:8443', 'another host name than Berth'],
    ['https://8080-1.apps.example.org', 'one of the host names of BERTH_APPS_URL'],
  ])('H744: BERTH_APPS_PATHS=%s is refused: %s', (BERTH_APPS_PATHS, problem) => {
    const env = { BERTH_APPS_PATHS, BERTH_APPS_URL: HOSTS, BERTH_PUBLIC_URL: 'https://berth.example.org' };
    for (const read of [readConfig, readNodeConfig]) expect(() => read(env)).toThrow(problem);
  });

  test('H744: the host on which Berth listens is refused, too', () => {
    const env = { BERTH_APPS_PATHS: 'https://berth.internal', BERTH_HOST: 'berth.internal' };
    expect(() => readNodeConfig(env)).toThrow('another host name than Berth');
  });
});

test('H740: web applications are for every user only if the description says so', () => {
  expect([sharedWithUsers({ share: 'users' }), sharedWithUsers({})]).toEqual([true, false]);
});
