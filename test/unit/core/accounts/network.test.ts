import { expect, test } from 'vitest';
import { networkOf, subnetOf } from '../../../../control-plane/core/accounts/network.ts';
import { fc } from '../../../support/tools/random-cases.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:0201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:0:1::7', '2001:db8:0:1'],
  ['2001:0DB8:0000:0001:a:b:c:d', '2001:db8:0:1'],
  ['2001:db8::7', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
])('H132: the address %s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test('H132: any text from a proxy is accepted as an address', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.stringMatching(/^[0-9a-f:.]{0,60}$/)), (text) => {
      expect(typeof networkOf(text)).toBe('string');
    }),
  );
});

test.each([
  ['192.0.2.77', '192.0.2.0/24'],
  ['::ffff:192.0.2.77', '192.0.2.0/24'],
  ['::ffff:c000:24d', '192.0.2.0/24'],
  ['2001:db8:0:1::7', '2001:db8:0:1'],
  ['unknown', 'unknown'],
])('H341: the network of %s is %s', (address, network) => {
  expect(subnetOf(address)).toBe(network);
});
