import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { firstSentence } from '../../../../agent/engine/images/pull-error.ts';
import { assertAllowed, isInside } from '../../../../agent/engine/images/registries.ts';
import { errorOf } from '../../../support/engines/docker-rig.ts';

const own = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .map(({ address }) => address);

test.each([
  ['127.0.0.1', '127.8.9.10', '0.0.0.0', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ['169.254.169.254', '100.64.0.1', '198.18.0.1', '224.0.0.1', '255.255.255.255'],
  ['::1', '::', 'fd00::1', 'fe80::1', 'ff02::1', '::ffff:10.0.0.1', '::ffff:7f00:1', '64:ff9b::10.0.0.1'],
  ['64:ff9b:1::1.1.1.1', '64:ff9b:1:7f00:0:100::', '2002:7f00:1::1', '2002:a01:203::', '2002:a9fe:a9fe::1'],
  ['0.255.255.255', '10.255.255.255', '100.127.255.255', '127.255.255.255', '169.254.255.255', '192.0.0.255'],
  ['192.168.255.255', '198.19.255.255', '239.255.255.255', '::ffff:ffff', '64:ff9b:1:ffff::', 'fdff::1'],
  ['febf::1', 'feff::1', 'ffff::1', '64:ff9b::10.255.255.255', '2002:aff:ffff::1'],
  own,
])('P139: the addresses %s and those beside it are not public', (...addresses) => {
  expect(addresses.filter((address) => !isInside(address))).toEqual([]);
});

test('P139: other addresses are public, also those that NAT64 and 6to4 make of public ones', () => {
  const mapped = ['64:ff9b::1.1.1.1', '2002:101:101::1'];
  const addresses = ['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', ...mapped];
  expect(addresses.filter(isInside)).toEqual([]);
});

test('P139: a registry is public only if all its addresses are, which are looked up', async () => {
  await assertAllowed('reg.example/x', ['public'], async () => ['1.1.1.1', '2606:4700::1111']);
  const mixed = assertAllowed('reg.example:5000/x', ['public'], async () => ['1.1.1.1', '10.0.0.1']);
  expect(await errorOf(mixed)).toMatchObject({
    kind: 'permanent',
    message:
      'pulling reg.example:5000/x: the registry reg.example:5000 is not on a public address (an operator allows a registry by BERTH_AGENT_REGISTRIES=...,reg.example:5000)',
  });
  const { message } = await errorOf(assertAllowed('localhost:5000/x', ['public']));
  expect(message).toContain('localhost:5000 is not on a public address');
});

test('P139: Docker Hub under all its names and a listed registry with its port need no look-up', async () => {
  const noLookUp = () => Promise.reject(new Error('a look-up'));
  for (const image of ['nginx', 'user/app:1', 'docker.io/library/nginx', 'index.docker.io/library/nginx'])
    await assertAllowed(image, ['public'], noLookUp);
  await assertAllowed('REG.example:5000/x', ['reg.example:5000'], noLookUp);
  const error = await errorOf(assertAllowed('reg.example/x', ['reg.example:5000'], noLookUp));
  expect(error.message).toContain('this host pulls only from reg.example:5000');
});

test.each([
  [
    'error parsing HTTP 404 response body: invalid character \'h\' in literal: "the secret"',
    'error parsing HTTP 404 response body',
  ],
  [
    'failed to resolve reference "a/x:1": unexpected status from HEAD request to http://a/v2/x: 500 Internal Server Error: {"the":"secret"}',
    'failed to resolve reference "a/x:1": unexpected status from HEAD request to http://a/v2/x: 500 Internal Server Error',
  ],
  ['login: unauthorized: the secret', 'login: unauthorized'],
  [
    'manifest for a/x:1 not found: manifest unknown: manifest unknown',
    'manifest for a/x:1 not found: manifest unknown: manifest unknown',
  ],
  [
    'toomanyrequests: You have reached your pull rate limit. You may increase the limit.\nthe secret',
    'toomanyrequests: You have reached your pull rate limit',
  ],
  [`denied: ${'a'.repeat(1000)}`, `denied: ${'a'.repeat(282)} ... (cut)`],
])('P140: of the message %j users see the first sentence', (message, seen) => {
  expect(firstSentence(message)).toBe(seen);
});
