import { expect, test } from 'vitest';
import { type FetchFacts, isForeign, isPageVisit } from '../../../../control-plane/core/apps/fetch-origin.ts';

const OWN = 'https://8080-12.apps.example.org';
const SIBLING = 'https://8080-13.apps.example.org';
const facts = (some: Partial<FetchFacts>): FetchFacts => ({
  ...{ method: 'GET', isUpgrade: false, site: undefined, mode: undefined, dest: undefined },
  ...{ origin: undefined, accept: undefined },
  ...some,
});
const PAGE = { mode: 'navigate', dest: 'document', accept: 'text/html' };

test.each<[what: string, some: Partial<FetchFacts>, foreign: boolean]>([
  ['its own script', { site: 'same-origin', mode: 'cors', dest: 'empty' }, false],
  ['its own form', { method: 'POST', site: 'same-origin', mode: 'navigate', origin: OWN }, false],
  [
    'its own form, by a page that hides where it is',
    { method: 'POST', site: 'same-origin', origin: 'null' },
    false,
  ],
  ['an address that a person types', { site: 'none', ...PAGE }, false],
  ['a link on another site', { site: 'cross-site', ...PAGE }, false],
  ['a link in another application', { site: 'same-site', ...PAGE }, false],
  ['a program', { method: 'DELETE' }, false],
  ['its own frame', { site: 'same-origin', mode: 'navigate', dest: 'iframe' }, false],
  ['its own WebSocket', { isUpgrade: true, origin: OWN }, false],
  ['a program with a WebSocket', { isUpgrade: true }, false],
  ['a script of another application', { site: 'same-site', mode: 'cors', dest: 'empty' }, true],
  ['a picture in another application', { site: 'same-site', mode: 'no-cors', dest: 'image' }, true],
  ['a form of another application', { method: 'POST', site: 'same-site', ...PAGE }, true],
  ['a frame in another application', { site: 'same-site', mode: 'navigate', dest: 'iframe' }, true],
  ['a WebSocket of another application', { isUpgrade: true, origin: SIBLING }, true],
  ['one with headers of both kinds', { isUpgrade: true, site: 'same-site', origin: SIBLING }, true],
  ['a WebSocket of a frame without an origin', { isUpgrade: true, origin: 'null' }, true],
  ['a WebSocket that claims to be a page', { isUpgrade: true, site: 'cross-site', ...PAGE }, true],
  ['a form of another site, by an old browser', { method: 'POST', origin: 'https://evil.test' }, true],
  ['the same name with another scheme', { method: 'POST', origin: OWN.replace('https', 'http') }, true],
])('H729: %s', (_, some, foreign) => {
  expect(isForeign(facts(some), OWN)).toBe(foreign);
});

test('H729: only a page of its own is sent to the login', () => {
  expect(isPageVisit(facts(PAGE))).toBe(true);
  expect(isPageVisit(facts({ accept: 'text/html' }))).toBe(true);
  const others = { method: 'POST', isUpgrade: true, mode: 'cors', dest: 'iframe' };
  for (const [name, value] of [...Object.entries(others), ['method', 'HEAD']] as const)
    expect(isPageVisit(facts({ ...PAGE, [name]: value })), name).toBe(false);
  expect(isPageVisit(facts({ accept: '*/*' }))).toBe(false);
});
