import { expect, test } from 'vitest';
import { overlayPool } from '../../../../../agent/engine/networks/overlay-networks.ts';
import { subnetText } from '../../../../../agent/engine/networks/subnets.ts';

test.each([
  ['the pool of a new swarm', ['10.0.0.0/8'], 24, '10.0.0.0/8 in /20'],
  [
    'two ranges, of which the larger one decides',
    ['10.0.0.0/8', '172.20.0.0/14'],
    24,
    '10.0.0.0/8,172.20.0.0/14 in /20',
  ],
  ['ranges that have room', ['10.0.0.0/9', '11.0.0.0/9'], 24, '10.0.0.0/9,11.0.0.0/9 in /21'],
  ['a small pool', ['10.64.0.0/16'], 24, undefined],
  ['a pool whose own networks are as large', ['10.0.0.0/8'], 20, undefined],
  ['a pool whose own networks are large', ['10.0.0.0/8'], 18, undefined],
  ['small networks of its own in a small pool', ['10.64.0.0/16'], 29, '10.64.0.0/16 in /28'],
  ['no pool', null, 0, undefined],
  ['a pool of IPv6', ['fd00::/8'], 64, undefined],
])(
  'P99: of %s, overlay networks take sub-networks for 4,096 networks at least',
  (_, ranges, size, expected) => {
    const pool = overlayPool({ DefaultAddrPool: ranges, SubnetSize: size });
    expect(pool && `${pool.ranges.map(subnetText).join(',')} in /${pool.bits}`).toBe(expected);
  },
);

test('P99: a swarm that does not say its pool chooses the sub-networks itself', () => {
  expect(overlayPool(undefined)).toBeUndefined();
});
