import { describe, expect, test } from 'vitest';
import { type CpuClaim, claimOf, levelOf, limitOf } from '../../../../agent/engine/cpu-allocation.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const sharesOf = (claims: CpuClaim[], cores: number): number[] => {
  const level = levelOf(claims, cores);
  return claims.map((claim) => limitOf(claim, level));
};
const claim = (min: number, max: number | null = null): CpuClaim => ({ min, max });
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

describe('what each gets', () => {
  test('C80: one alone gets all the host offers', () => {
    expect(sharesOf([claim(0.5)], 2)).toEqual([2]);
  });
  test('C80: what is above the reservations is shared out in equal parts', () => {
    expect(sharesOf([claim(0.5), claim(0.1)], 2)).toEqual([1.2, 0.8]);
  });
  test('C80: what one can not take under its max is left to the others', () => {
    expect(sharesOf([claim(0.5, 0.6), claim(0.2), claim(0.1, 1)], 2)).toEqual([0.6, 0.75, 0.65]);
  });
  test('C80: one that has reserved its max has no more, even alone', () => {
    expect(sharesOf([claim(1, 1)], 8)).toEqual([1]);
  });
  test('C80: where nothing is left each has its reservation', () => {
    expect(sharesOf([claim(1.5), claim(0.5)], 2)).toEqual([1.5, 0.5]);
    expect(sharesOf([claim(1.5), claim(1.005)], 2)).toEqual([1.5, 1.005]);
  });
  test('C80: a limit is never smaller than the engine takes', () => {
    expect(sharesOf([claim(2), claim(0, 0), claim(0)], 2)).toEqual([2, 0.01, 0.01]);
  });
  test('C80: parts that are no hundredths are rounded down', () => {
    expect(sharesOf([claim(0.1), claim(0.1), claim(0.1)], 2)).toEqual([0.66, 0.66, 0.66]);
  });
  test('C80: nothing reserved counts as 0.1 cores', () => {
    expect(claimOf({ coresMin: null, coresMax: 3 })).toEqual({ min: 0.1, max: 3 });
    expect(claimOf({ coresMin: 0, coresMax: null })).toEqual({ min: 0, max: null });
  });
});

describe('whatever is asked for', () => {
  const thousandths = (max: number) => fc.nat(max * 1000).map((number) => number / 1000);
  const claims = fc.array(
    fc
      .tuple(thousandths(4), fc.option(thousandths(8)))
      .map(([min, more]) => claim(min, more === null ? null : min + more)),
    { minLength: 1, maxLength: 40 },
  );
  const hosts = fc.oneof(thousandths(64), fc.integer({ min: 1, max: 256 }));
  const holds = (property: (claims: CpuClaim[], limits: number[], cores: number) => void) =>
    fc.assert(fc.property(claims, hosts, (asked, cores) => property(asked, sharesOf(asked, cores), cores)));
  /** What counts as reserved: the engine takes no less than 0.01. */
  const floor = ({ min }: CpuClaim) => Math.max(min, 0.01);

  test('C80: nobody is below its reservation or above its max', () => {
    holds((asked, limits) => {
      for (const [at, { max, ...rest }] of asked.entries()) {
        const least = floor({ max, ...rest });
        expect(limits[at]).toBeGreaterThanOrEqual(least);
        expect(limits[at]).toBeLessThanOrEqual(Math.max(least, max ?? Number.POSITIVE_INFINITY));
      }
    });
  });
  test('C80: all together are within what the host offers, or have their reservations alone', () => {
    holds((asked, limits, cores) => {
      const reserved = sum(asked.map(floor));
      if (reserved > cores) expect(limits).toEqual(asked.map(floor));
      else expect(sum(limits)).toBeLessThanOrEqual(cores + 1e-6);
    });
  });
  test('C80: nothing is left over that somebody could take, but for the rounding', () => {
    holds((asked, limits, cores) => {
      const wanting = asked.filter(({ max }, at) => max === null || max - (limits[at] ?? 0) > 0.01);
      if (wanting.length > 0) expect(sum(limits)).toBeGreaterThan(cores - 0.01 * asked.length - 1e-6);
    });
  });
  test('C80: who is below its max has as much above its reservation as anybody, but for the rounding', () => {
    holds((asked, limits) => {
      const extras = asked.map((one, at) => (limits[at] ?? 0) - floor(one));
      const most = Math.max(...extras);
      for (const [at, { max }] of asked.entries())
        if (max === null || (limits[at] ?? 0) < max - 0.01)
          expect(extras[at]).toBeGreaterThan(most - 0.01 - 1e-6);
    });
  });
  test('C80: the order in which they are told makes no difference', () => {
    holds((asked, limits, cores) => {
      const backwards = sharesOf(asked.toReversed(), cores).toReversed();
      for (const [at, limit] of backwards.entries())
        expect(Math.abs(limit - (limits[at] ?? 0))).toBeLessThan(0.011);
    });
  });
  test('C80: nobody has more when another comes', () => {
    fc.assert(
      fc.property(claims, claims, hosts, ([another = claim(0.1)], asked, cores) => {
        const before = sharesOf(asked, cores);
        const after = sharesOf([...asked, another], cores);
        for (const [at, limit] of before.entries())
          expect(after[at]).toBeLessThanOrEqual(limit + 0.01 + 1e-6);
      }),
    );
  });
});
