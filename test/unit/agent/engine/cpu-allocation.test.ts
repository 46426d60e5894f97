import { expect, test } from 'vitest';
import {
  type CpuClaim,
  claimOf,
  levelOf,
  levelsOf,
  limitOf,
} from '../../../../agent/engine/cpu-allocation.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';

const sharesOf = (claims: CpuClaim[], cores: number): number[] => {
  const level = levelOf(claims, cores);
  return claims.map((claim) => limitOf(claim, level));
};
const claim = (min: number, max: number | null = null): CpuClaim => ({ min, max });
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

test.each<[string, CpuClaim[], cores: number, limits: number[]]>([
  ['a single service gets everything that the host offers', [claim(0.5)], 2, [2]],
  ['what is above the reservations is divided equally', [claim(0.5), claim(0.1)], 2, [1.2, 0.8]],
  [
    'the share that one service cannot use under its max goes to the others',
    [claim(0.5, 0.6), claim(0.2), claim(0.1, 1)],
    2,
    [0.6, 0.75, 0.65],
  ],
  ['a limit is never below the minimum of the engine', [claim(2), claim(0, 0), claim(0)], 2, [2, 0.01, 0.01]],
  ['a share is rounded down to hundredths', [claim(0.1), claim(0.1), claim(0.1)], 2, [0.66, 0.66, 0.66]],
])('C80: of the limits, %s', (_, claims, cores, limits) => {
  expect(sharesOf(claims, cores)).toEqual(limits);
});

test('C80: a missing reservation counts as 0.1 cores', () => {
  expect(claimOf({ coresMin: null, coresMax: 3 })).toEqual({ min: 0.1, max: 3 });
  expect(claimOf({ coresMin: 0, coresMax: null })).toEqual({ min: 0, max: null });
});

const thousandths = (max: number) => fc.nat(max * 1000).map((number) => number / 1000);
const claims = fc.array(
  fc
    .tuple(thousandths(4), fc.option(thousandths(8)))
    .map(([min, more]) => claim(min, more === null ? null : min + more)),
  { minLength: 1, maxLength: 40 },
);
const hosts = fc.oneof(thousandths(64), fc.integer({ min: 1, max: 256 }));
const holds = (property: (claims: CpuClaim[], limits: number[], cores: number) => void) =>
  fc.assert(fc.property(claims, hosts, (all, cores) => property(all, sharesOf(all, cores), cores)));
/** The effective reservation: the smallest limit of the engine is 0.01. */
const floor = ({ min }: CpuClaim) => Math.max(min, 0.01);

test('C80: each service is within its reservation and its max, and the rest of the host is divided equally', () => {
  holds((requested, limits, cores) => {
    const reserved = requested.map(floor);
    for (const [at, { max }] of requested.entries()) {
      expect(limits[at]).toBeGreaterThanOrEqual(reserved[at] ?? 0);
      expect(limits[at]).toBeLessThanOrEqual(Math.max(reserved[at] ?? 0, max ?? Number.POSITIVE_INFINITY));
    }
    if (sum(reserved) > cores) expect(limits).toEqual(reserved);
    else expect(sum(limits)).toBeLessThanOrEqual(cores + 1e-6);
    const wanting = requested.filter(({ max }, at) => max === null || max - (limits[at] ?? 0) > 0.01);
    if (wanting.length > 0) expect(sum(limits)).toBeGreaterThan(cores - 0.01 * requested.length - 1e-6);
  });
  holds((requested, limits, cores) => {
    const extras = requested.map((one, at) => (limits[at] ?? 0) - floor(one));
    const most = Math.max(...extras);
    for (const [at, { max }] of requested.entries())
      if (max === null || (limits[at] ?? 0) < max - 0.01)
        expect(extras[at]).toBeGreaterThan(most - 0.01 - 1e-6);
    const backwards = sharesOf(requested.toReversed(), cores).toReversed();
    for (const [at, limit] of backwards.entries())
      expect(Math.abs(limit - (limits[at] ?? 0))).toBeLessThan(0.011);
  });
});
test('C80: no service gets more when another one comes', () => {
  fc.assert(
    fc.property(claims, claims, hosts, ([another = claim(0.1)], requested, cores) => {
      const before = sharesOf(requested, cores);
      const after = sharesOf([...requested, another], cores);
      for (const [at, limit] of before.entries()) expect(after[at]).toBeLessThanOrEqual(limit + 0.01 + 1e-6);
    }),
  );
});

const share = (cores: number) => ({ cores });
type Given = [claim: CpuClaim, share?: { cores: number } | undefined];
const limitsOf = (given: Given[], cores: number): number[] => {
  const claims = given.map(([one, its]) => ({ claim: one, share: its }));
  const levelFor = levelsOf(claims, cores);
  return claims.map(({ claim: one, share: its }) => limitOf(one, levelFor(its)));
};

test('C212: the services of a share together get its cores, divided equally, and no more unless the others cannot use them', () => {
  const small = share(1);
  const one = (): Given => [claim(0.1), share(1)];
  const cases: [string, Given[], cores: number, limits: number[]][] = [
    ['equally', [[claim(0.1), small], [claim(0.3), small], [claim(0.1)]], 4, [0.4, 0.6, 3]],
    ['not used up', [[claim(0.5), share(3)], [claim(0.1)]], 2, [1.2, 0.8]],
    ['beyond the shares', [one(), [claim(0.5, 0.5)]], 4, [3.5, 0.5]],
    ['beyond two shares', [one(), one()], 4, [2, 2]],
    ['alone', [one()], 4, [4]],
    ['smaller than the reservations', [[claim(1), share(0.5)], [claim(0.1)]], 4, [1, 3]],
  ];
  for (const [name, given, cores, limits] of cases)
    expect([name, ...limitsOf(given, cores)]).toEqual([name, ...limits]);
});

const given = fc.array(
  fc.record({
    min: fc.integer({ min: 0, max: 30 }).map((tenths) => tenths / 10),
    above: fc.option(fc.integer({ min: 0, max: 30 }).map((tenths) => tenths / 10)),
    owner: fc.nat({ max: 3 }),
  }),
  { minLength: 1, maxLength: 12 },
);
const capacities = fc.tuple(
  fc.integer({ min: 1, max: 64 }),
  fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 3, maxLength: 3 }),
);

test('C212: limits stay within the host, and beyond a share only if nobody else could use more', () => {
  fc.assert(
    fc.property(given, capacities, (services, [cores, caps]) => {
      const shares = caps.map((tenths) => share(tenths / 10));
      const claims = services.map(({ min, above, owner }) => ({
        owner,
        one: claim(min, above === null ? null : min + above),
      }));
      const claimsOfOwners = claims.map(({ one, owner }): Given => [one, shares[owner]]);
      const limits = limitsOf(claimsOfOwners, cores);
      const floors = claims.map(({ one }) => Math.max(one.min, 0.01));
      expect(sum(limits)).toBeLessThanOrEqual(Math.max(cores, sum(floors)) + 1e-6);
      for (const [at, limit] of limits.entries()) expect(limit).toBeGreaterThanOrEqual(floors[at] ?? 0);
      for (const [owner, its] of shares.entries()) {
        const mine = claims.flatMap((one, at) => (one.owner === owner ? [at] : []));
        const most = Math.max(its.cores, sum(mine.map((at) => floors[at] ?? 0)));
        if (sum(mine.map((at) => limits[at] ?? 0)) <= most + 1e-6) continue;
        // A service within a share, or without one, then has its maximum.
        const open = claims.flatMap((one, at) => {
          const cap = shares[one.owner]?.cores ?? Number.POSITIVE_INFINITY;
          const used = sum(
            claims.flatMap((other, its) => (other.owner === one.owner ? [limits[its] ?? 0] : [])),
          );
          return used < cap - 0.2 ? [at] : [];
        });
        for (const at of open)
          expect(limits[at]).toBeCloseTo(Math.max(claims[at]?.one.max ?? -1, floors[at] ?? 0), 5);
      }
    }),
    cases(200),
  );
});
