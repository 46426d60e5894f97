import { expect, test } from 'vitest';
import {
  type AppSite,
  appAt,
  appHostOf,
  appOriginOf,
  mayShareSite,
  readAppName,
  readAppSite,
} from '../../../../control-plane/core/apps/app-site.ts';
import { appProblems, appsOf } from '../../../../control-plane/operations/apps/settings.ts';

const site = (text: string): AppSite => {
  const read = readAppSite(text);
  if ('problem' in read) throw new Error(read.problem);
  return read;
};
const words = (text: string): string[] => text.trim().split(/\s+/);
const SITE = site('https://*.apps.example.org');
const LOCAL = site('http://*.apps.localhost:5001');
const APP = { port: 8080, serviceId: 12 };

test('H721: the setting of host names is an https address with a * for the first label, or http below localhost', () => {
  expect(SITE).toEqual({ scheme: 'https', suffix: '.apps.example.org', port: '' });
  expect(LOCAL).toEqual({ scheme: 'http', suffix: '.apps.localhost', port: '5001' });
  expect(site('https://*.apps.example.org:443/').port).toBe('');
  expect(site('http://*.localhost:80').port).toBe('');
  for (const wrong of words(`
    *.apps.example.org https://apps.example.org https://* https://*.org ftp://*.a.org https://*.1.2
    http://*.apps.example.org http://*.localhost.example.org https://*.Apps.example.org
    https://*.apps.example.org/path https://*.a.*.org https://*apps.example.org https://*.-a.org
    https://*.apps.example.org:0 https://*.apps.example.org:99999 https://*.a..org
    https://x@*.apps.example.org https://*.${'a.'.repeat(150)}org https://*.apps.example.org.`))
    expect(readAppSite(wrong), wrong).toHaveProperty('problem');
  expect(readAppSite('')).toHaveProperty('problem');
});

test('H722: a host names an application only in the one way in which Berth writes it', () => {
  expect([appHostOf(SITE, APP), appOriginOf(LOCAL, APP)]).toEqual([
    '8080-12.apps.example.org',
    'http://8080-12.apps.localhost:5001',
  ]);
  for (const own of ['8080-12.apps.example.org', '8080-12.APPS.example.org', '8080-12.apps.example.org:443'])
    expect(appAt(SITE, own), own).toEqual(APP);
  expect(appAt(LOCAL, '8080-12.apps.localhost:5001')).toEqual(APP);
  for (const none of words(`
    x.apps.example.org 8080.apps.example.org 08080-12.apps.example.org 8080-012.apps.example.org
    8080-12.apps.example.org. 8080-12.apps.example.org:8443 8080-12.apps.example.org:80 .apps.example.org
    a.8080-12.apps.example.org 8080-12.x.apps.example.org 8080--12.apps.example.org +8080-12.apps.example.org
    65536-12.apps.example.org 0-12.apps.example.org 8080-0.apps.example.org u@8080-12.apps.example.org
    8080-1234567890123456.apps.example.org ٨-12.apps.example.org 8080-12.apps.example.org..`))
    expect(appAt(SITE, none), none).toBeNull();
  expect(appAt(LOCAL, '8080-12.apps.localhost')).toBeNull();
  for (const berth of [
    '',
    ...words('berth.example.org apps.example.org 8080-12.apps.example.org.x [::1]:5001'),
  ])
    expect(appAt(SITE, berth), berth).toBeUndefined();
  expect(appAt(SITE, '8080-12.xapps.example.org')).toBeUndefined();
  expect([readAppName('1-1'), readAppName('1-1 '), readAppName('1e2-1')]).toEqual([
    { port: 1, serviceId: 1 },
    undefined,
    undefined,
  ]);
});

test('H723: Berth warns where applications may share its site, and needs https there', () => {
  expect(mayShareSite('berth.example.org', 'apps.example.org')).toBe(true);
  expect(mayShareSite('berth.example.org', 'apps.example-apps.org')).toBe(false);
  expect(mayShareSite('localhost', 'apps.localhost')).toBe(false);
  const config = (BERTH_APPS_URL: string, BERTH_PUBLIC_URL?: string) => ({
    BERTH_APPS_URL,
    BERTH_PUBLIC_URL,
  });
  expect(appProblems({})).toEqual([]);
  expect(appsOf(config('https://*.apps.example.org', 'https://berth.example.org'))?.sharesSite).toBe(true);
  expect(appProblems(config('https://*.apps.example.org', 'https://berth.example.org'))).toEqual([]);
  expect(appProblems(config('http://*.apps.localhost:5001', 'http://127.0.0.1:5001'))).toEqual([]);
  expect(appProblems(config('https://*.apps.example.org'))[0]).toContain('BERTH_PUBLIC_URL: must be set');
  expect(appProblems(config('https://*.apps.example.org', 'http://berth.example.org'))[0]).toContain(
    'must be https',
  );
  expect(
    appProblems(config('http://*.apps.localhost:5001', 'http://berth.apps.localhost:5001'))[0],
  ).toContain('must not be one of the names');
});
