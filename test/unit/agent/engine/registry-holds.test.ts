import { expect, test, vi } from 'vitest';
import {
  isRateLimited,
  RegistryHolds,
  requestRetryAfter,
  retryAfterMs,
} from '../../../../agent/engine/images/registry-holds.ts';

const REFUSAL = 'toomanyrequests: too many requests';

test('P304: a registry without a time of its own is left alone for longer with each refusal, up to ten minutes', () => {
  let nowMs = 0;
  const holds = new RegistryHolds(() => nowMs);
  const waits: number[] = [];
  expect(holds.refused('docker.io ', 'nginx:1', REFUSAL, undefined).message).toContain(
    'the start is tried again',
  );
  holds.assertFree('docker.io ', 'nginx:1');
  for (let nth = 0; nth < 8; nth += 1) {
    const { message } = holds.refused('docker.io ', 'nginx:1', REFUSAL, undefined);
    // Another pull that was under way.
    holds.refused('docker.io ', 'redis:1', REFUSAL, undefined);
    const seconds = Number(/in (\d+) s/.exec(message)?.[1]);
    waits.push(seconds);
    nowMs += 1_000 * seconds - 1;
    expect(() => holds.assertFree('docker.io ', 'nginx:1')).toThrow('in 1 s');
    nowMs += 1;
    holds.assertFree('docker.io ', 'nginx:1');
  }
  expect(waits).toEqual([30, 60, 120, 240, 480, 600, 600, 600]);
  holds.answered('docker.io ');
  holds.refused('docker.io ', 'nginx:1', REFUSAL, undefined);
  holds.assertFree('docker.io ', 'nginx:1');
});

test('P304: a registry is left alone as long as it says, an hour at most, and no other registry with it', () => {
  const holds = new RegistryHolds(() => 0);
  expect(holds.refused('a ', 'a/x', REFUSAL, 300_000).message).toContain('in 300 s');
  expect(holds.refused('b ', 'b/x', REFUSAL, 1e12).message).toContain('in 3600 s');
  holds.assertFree('a own-credentials', 'a/x');
});

test('P304: Retry-After is a number of seconds or a date', () => {
  const nowMs = Date.parse('2026-11-29T12:00:00Z');
  expect(retryAfterMs('120', nowMs)).toBe(120_000);
  expect(retryAfterMs('Sun, 29 Nov 2026 12:01:30 GMT', nowMs)).toBe(90_000);
  expect(retryAfterMs('Sun, 29 Nov 2026 11:00:00 GMT', nowMs)).toBe(0);
  for (const none of [null, '', 'soon', '-5', '1e3']) expect(retryAfterMs(none, nowMs)).toBeUndefined();
});

test('P304: the engine reports a limit in several forms', () => {
  for (const message of [
    'toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating',
    "pull access denied for x, repository does not exist or may require 'docker login': denied: exceeded pull rate limit",
    'error parsing HTTP 429 response body: invalid character',
    'unexpected status from HEAD request to https://reg.example/v2/x/manifests/1: 429 Too Many Requests',
    'received unexpected HTTP status: 429',
  ])
    expect(isRateLimited(message), message).toBe(true);
  for (const message of ['manifest for x:429 not found', 'pull access denied for 429/x'])
    expect(isRateLimited(message), message).toBe(false);
});

test('P304: beyond a thousand registries the one that has refused nothing for longest is left out', () => {
  const holds = new RegistryHolds(() => 0);
  const refuse = (key: string) => holds.refused(key, `${key}/x`, REFUSAL, 60_000);
  for (const key of ['first', 'second', 'first']) refuse(key);
  for (let nth = 0; nth < 998; nth += 1) refuse(`r${nth}`);
  expect(() => holds.assertFree('second', 'x')).toThrow();
  refuse('last');
  holds.assertFree('second', 'x');
  for (const key of ['first', 'r0', 'last']) expect(() => holds.assertFree(key, 'x')).toThrow();
});

test('P304: the message names the limit, also where the engine speaks of a missing image', () => {
  const holds = new RegistryHolds(() => 0);
  const denied =
    "pull access denied for x, repository does not exist or may require 'docker login': denied: exceeded pull rate limit";
  expect(holds.refused('a', 'nginx:1', denied, 1_000).message).toMatch(
    /^pulling nginx:1: the pull rate limit of its registry is exceeded \(the registry docker\.io limits .*set docker\.io`/,
  );
  expect(holds.refused('b', 'reg.example/x:1', REFUSAL, 0).message).toMatch(
    /^pulling reg\.example\/x:1: toomanyrequests: too many requests \(the registry reg\.example limits/,
  );
});

test.each([
  ['nginx', 'https://registry-1.docker.io/v2/library/nginx/manifests/latest'],
  ['bob/app:2', 'https://registry-1.docker.io/v2/bob/app/manifests/2'],
  ['reg.example:5000/a/b@sha256:d', 'https://reg.example:5000/v2/a/b/manifests/sha256:d'],
])('P304: the registry of %s is asked at %s', async (image, url) => {
  const request = vi.fn(async () => new Response(null, { headers: { 'retry-after': '7' } }));
  vi.stubGlobal('fetch', request);
  expect(await requestRetryAfter(image).finally(() => vi.unstubAllGlobals())).toBe(7_000);
  expect(request.mock.calls).toMatchObject([[url, { method: 'HEAD', redirect: 'manual' }]]);
});
