import { expect, test } from 'vitest';
import {
  isRateLimited,
  RegistryHolds,
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
