import { describe, expect, test } from 'vitest';
import { networkDevices, parseRoutes } from '../../../../../agent/engine/networks/host-routes.ts';
import { overlayPool } from '../../../../../agent/engine/networks/overlay-networks.ts';
import {
  capacityOf,
  freeSubnet,
  parseSubnet,
  type Subnet,
  subnetText,
} from '../../../../../agent/engine/networks/subnets.ts';
import { subnet } from '../../../../support/rigs/network-rig.ts';
import { fc } from '../../../../support/tools/random-cases.ts';

const range = [subnet('198.18.0.0/24')];
const free = (bits: number, ...taken: string[]) => {
  const found = freeSubnet(range, bits, taken.map(subnet));
  return found && subnetText(found);
};

describe('P92: a free sub-network', () => {
  test.each([
    [[], '198.18.0.0/26'],
    [['198.18.0.0/26'], '198.18.0.64/26'],
    [['198.16.0.0/12'], undefined],
    [['10.0.0.0/8', '198.19.0.0/16'], '198.18.0.0/26'],
  ])('beside %j is %s', (taken, expected) => {
    expect(free(26, ...taken)).toBe(expected);
  });
  test('comes from a later range once the first one is full', () => {
    const ranges = [...range, subnet('10.0.0.0/22')];
    expect(freeSubnet(ranges, 26, range)).toEqual(subnet('10.0.0.0/26'));
  });
  test('overlaps nothing that is taken', () => {
    const one = fc.record({ at: fc.nat(255), bits: fc.integer({ min: 24, max: 32 }) }).map(({ at, bits }) => {
      const size = 2 ** (32 - bits);
      return { first: (range[0]?.first ?? 0) + Math.floor(at / size) * size, bits };
    });
    const end = ({ first, bits }: Subnet) => first + 2 ** (32 - bits);
    fc.assert(
      fc.property(fc.array(one, { maxLength: 8 }), fc.integer({ min: 24, max: 30 }), (taken, bits) => {
        const found = freeSubnet(range, bits, taken);
        const isFree = (it: Subnet) =>
          taken.every((other) => end(other) <= it.first || other.first >= end(it));
        const all = Array.from({ length: 2 ** (bits - 24) }, (_, i) => ({
          first: (range[0]?.first ?? 0) + i * 2 ** (32 - bits),
          bits,
        }));
        expect(found).toEqual(all.find(isFree));
      }),
    );
  });
});

test('P93: a network has addresses for all but its own, its gateway and the broadcast', () => {
  expect([26, 22].map(capacityOf)).toEqual([61, 1021]);
  expect(parseSubnet('255.255.255.255/32')).toEqual({ first: 2 ** 32 - 1, bits: 32 });
  for (const text of ['198.18.0.1/15', '198.18.0.0', '256.0.0.0/8', '10.0.0.0/33', 'fd00::/64', ''])
    expect([text, parseSubnet(text)]).toEqual([text, undefined]);
});

test('P92: routes are read, except default routes', async () => {
  const routes = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
tun0	00000080	00000000	0001	0	0	0	00000080	0	0	0
docker0	000011AC	00000000	0001	0	0	0	0000FFFF	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
eth1	0000000A	00000000	0001	0	0	0	000000FF	0	0	0
`;
  const found = parseRoutes(routes).map((one) => `${one.device} ${subnetText(one)}`);
  expect(found).toEqual(['docker0 172.17.0.0/16', 'eth0 192.0.2.0/24', 'eth1 10.0.0.0/8']);
  expect(await networkDevices()).toContain('lo');
  expect(parseRoutes('')).toEqual([]);
});

test.each([
  ['the pool of a new swarm', ['10.0.0.0/8'], 24, '10.0.0.0/8 in /20'],
  ['two ranges', ['10.0.0.0/8', '172.20.0.0/14'], 24, '10.0.0.0/8,172.20.0.0/14 in /20'],
  ['ranges that have room', ['10.0.0.0/9', '11.0.0.0/9'], 24, '10.0.0.0/9,11.0.0.0/9 in /21'],
  ['a small pool', ['10.64.0.0/16'], 24, undefined],
  ['a pool whose own networks are as large', ['10.0.0.0/8'], 20, undefined],
  ['a pool whose own networks are large', ['10.0.0.0/8'], 18, undefined],
  ['small networks of its own in a small pool', ['10.64.0.0/16'], 29, '10.64.0.0/16 in /28'],
  ['no pool', null, 0, undefined],
  ['a pool of IPv6', ['fd00::/8'], 64, undefined],
])('P99: of %s, overlay networks take room for 4,096 networks at least', (_, ranges, size, expected) => {
  const pool = overlayPool({ DefaultAddrPool: ranges, SubnetSize: size });
  expect(overlayPool(undefined)).toBeUndefined();
  expect(pool && `${pool.ranges.map(subnetText).join(',')} in /${pool.bits}`).toBe(expected);
});
