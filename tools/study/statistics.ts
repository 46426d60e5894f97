/** Percentiles and confidence intervals. Pure. */

/** Nearest rank: the smallest value such that at least `share` of all values are not larger. */
export function percentile(values: readonly number[], share: number): number {
  return weightedPercentile(
    values.map((value) => ({ value, weight: 1 })),
    share,
  );
}

/**
 * The smallest value such that values of at least `share` of the total weight are not larger. Throws if there
 * are no values.
 */
export function weightedPercentile(
  values: readonly { value: number; weight: number }[],
  share: number,
): number {
  const sorted = values.toSorted((a, b) => a.value - b.value);
  const wanted = share * sorted.reduce((sum, { weight }) => sum + weight, 0);
  let weightBelow = 0;
  for (const { value, weight } of sorted) {
    weightBelow += weight;
    if (weightBelow >= wanted) return value;
  }
  const last = sorted.at(-1);
  if (!last) throw new Error('cannot take a percentile of no values');
  return last.value;
}

export interface Estimate {
  mean: number;
  /** Half the width of the 95 % confidence interval. */
  halfWidth: number;
}

/**
 * Estimates the mean of independent, approximately normal values by Student's t. A single value has an
 * infinite interval.
 */
export function estimate(values: readonly number[]): Estimate {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const halfWidth =
    count < 2 ? Number.POSITIVE_INFINITY : t975(count - 1) * Math.sqrt(squares / (count - 1) / count);
  return { mean, halfWidth };
}

const T_975 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
];
/** For more degrees of freedom than the table has: slightly too wide, never too narrow. */
const T_975_MORE = 2.145;

const t975 = (degrees: number): number => T_975[degrees - 1] ?? T_975_MORE;
