import { describe, expect, test } from 'vitest';
import { type CpuClaim, claimOf, levelOf, limitOf } from '../../../../agent/engine/cpu-allocation.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const sharesOf = (claims: CpuClaim[], cores: number): number[] => {
  const level = levelOf(claims, cores);
  return claims.map((claim) => limitOf(claim, level));
};
const claim = (min: number, max: number | null = null): CpuClaim => ({ min, max });
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

describe('the limits', () => {
  test('C80: a single service gets everything that the host offers', () => {
    expect(sharesOf([claim(0.5)], 2)).toEqual([2]);
  });
  test('C80: the cores above the reservations are divided equally', () => {
    expect(sharesOf([claim(0.5), claim(0.1)], 2)).toEqual([1.2, 0.8]);
  });
  test('C80: the share that one service cannot use under its max goes to the others', () => {
    expect(sharesOf([claim(0.5, 0.6), claim(0.2), claim(0.1, 1)], 2)).toEqual([0.6, 0.75, 0.65]);
  });
  test('C80: a service that has reserved its max gets no more, even alone', () => {
    expect(sharesOf([claim(1, 1)], 8)).toEqual([1]);
  });
  test('C80: each service has its reservation if nothing is left', () => {
    expect(sharesOf([claim(1.5), claim(0.5)], 2)).toEqual([1.5, 0.5]);
    expect(sharesOf([claim(1.5), claim(1.005)], 2)).toEqual([1.5, 1.005]);
  });
  test('C80: a limit is never below the minimum of the engine', () => {
    expect(sharesOf([claim(2), claim(0, 0), claim(0)], 2)).toEqual([2, 0.01, 0.01]);
  });
  test('C80: a share is rounded down to hundredths', () => {
    expect(sharesOf([claim(0.1), claim(0.1), claim(0.1)], 2)).toEqual([0.66, 0.66, 0.66]);
  });
  test('C80: a missing reservation counts as 0.1 cores', () => {
    expect(claimOf({ coresMin: null, coresMax: 3 })).toEqual({ min: 0.1, max: 3 });
    expect(claimOf({ coresMin: 0, coresMax: null })).toEqual({ min: 0, max: null });
  });
});

describe('any claims', () => {
  const thousandths = (max: number) => fc.nat(max * 1000).map((number) => number / 1000);
  const claims = fc.array(
    fc
      .tuple(thousandths(4), fc.option(thousandths(8)))
      .map(([min, more]) => claim(min, more === null ? null : min + more)),
    { minLength: 1, maxLength: 40 },
  );
  const hosts = fc.oneof(thousandths(64), fc.integer({ min: 1, max: 256 }));
  const holds = (property: (claims: CpuClaim[], limits: number[], cores: number) => void) =>
    fc.assert(
      fc.property(claims, hosts, (requested, cores) =>
        property(requested, sharesOf(requested, cores), cores),
      ),
    );
  /** The effective reservation: the smallest limit of the engine is 0.01. */
  const floor = ({ min }: CpuClaim) => Math.max(min, 0.01);

  test('C80: no service is below its reservation or above its max', () => {
    holds((requested, limits) => {
      for (const [at, { max, ...rest }] of requested.entries()) {
        const least = floor({ max, ...rest });
        expect(limits[at]).toBeGreaterThanOrEqual(least);
        expect(limits[at]).toBeLessThanOrEqual(Math.max(least, max ?? Number.POSITIVE_INFINITY));
      }
    });
  });
  test('C80: the limits together do not exceed what the host offers, unless they are only the reservations', () => {
    holds((requested, limits, cores) => {
      const reserved = sum(requested.map(floor));
      if (reserved > cores) expect(limits).toEqual(requested.map(floor));
      else expect(sum(limits)).toBeLessThanOrEqual(cores + 1e-6);
    });
  });
  test('C80: nothing is left that a service could use, apart from rounding', () => {
    holds((requested, limits, cores) => {
      const wanting = requested.filter(({ max }, at) => max === null || max - (limits[at] ?? 0) > 0.01);
      if (wanting.length > 0) expect(sum(limits)).toBeGreaterThan(cores - 0.01 * requested.length - 1e-6);
    });
  });
  test('C80: every service below its max has the same amount above its reservation, apart from rounding', () => {
    holds((requested, limits) => {
      const extras = requested.map((one, at) => (limits[at] ?? 0) - floor(one));
      const most = Math.max(...extras);
      for (const [at, { max }] of requested.entries())
        if (max === null || (limits[at] ?? 0) < max - 0.01)
          expect(extras[at]).toBeGreaterThan(most - 0.01 - 1e-6);
    });
  });
  test('C80: the order of the claims makes no difference', () => {
    holds((requested, limits, cores) => {
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
        for (const [at, limit] of before.entries())
          expect(after[at]).toBeLessThanOrEqual(limit + 0.01 + 1e-6);
      }),
    );
  });
});
