/** Benchmark result: a figure, its limit, its goal, and the table that shows them. Pure. */

export interface Goal {
  /** Whether the goal applies to the figure or to its ratio to the limit. */
  of: 'figure' | 'ratio';
  bound: 'max' | 'min';
  amount: number;
}

export interface Measurement {
  name: string;
  unit: string;
  figure: number;
  /** The figure of the same work without Berth, measured in the same run. */
  limit?: number;
  goal: Goal;
}

export interface Result extends Measurement {
  group: string;
  ratio: number | null;
  met: boolean;
}

type Measured = number | Both;

export interface Both {
  figure: number;
  limit: number;
}

const measurementFor =
  (of: Goal['of'], bound: Goal['bound']) =>
  (name: string, unit: string, measured: Measured, amount: number): Measurement => ({
    ...{ name, unit, goal: { of, bound, amount } },
    ...(typeof measured === 'number' ? { figure: measured } : measured),
  });

/** A figure that may be so large at most, or must be so large at least. */
export const bounded = measurementFor('figure', 'max');
export const floored = measurementFor('figure', 'min');
/** A figure that may be so many times its limit at most, or must be so many times its limit at least. */
export const atMost = measurementFor('ratio', 'max');
export const atLeast = measurementFor('ratio', 'min');

type Turn<K extends string> = () => Promise<Record<K, number>>;

/**
 * Measures something and its limits by turns. Returns the medians of what the results have, beside those of
 * the first limit or of another one.
 */
export async function byTurns<K extends string>(
  rounds: number,
  [berth, ...limits]: [berth: Turn<K>, limit: Turn<K>, ...others: Turn<K>[]],
): Promise<(of: K, limit?: number) => Both> {
  const results: Record<K, number>[][] = [];
  for (let round = 0; round < rounds; round++) {
    const turn: Record<K, number>[] = [];
    for (const measure of [berth, ...limits]) turn.push(await measure());
    results.push(turn);
  }
  const medianOf = (of: K, at: number) => median(results.map((turn) => turn[at]?.[of] ?? Number.NaN));
  return (of, limit = 0) => ({ figure: medianOf(of, 0), limit: medianOf(of, 1 + limit) });
}

export function resultOf(group: string, measurement: Measurement): Result {
  const { figure, limit, goal } = measurement;
  const ratio = limit === undefined ? null : figure / limit;
  const judged = goal.of === 'ratio' ? (ratio ?? Number.NaN) : figure;
  const met = goal.bound === 'max' ? judged <= goal.amount : judged >= goal.amount;
  return { group, ...measurement, ratio, met };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (below === undefined || above === undefined) throw new Error('cannot take the median of no values');
  return (below + above) / 2;
}

/** The 99th percentile; NaN if there are no values. */
export const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;

/** Formats the results as a table for a terminal, with one line per result. */
export function tableOf(results: readonly Result[]): string {
  const header = ['group', 'figure', '', 'limit', 'ratio', 'goal', 'met'];
  const rows = results.map(({ group, name, unit, figure, limit, ratio, goal, met }) => [
    group,
    name,
    `${short(figure)} ${unit}`,
    limit === undefined ? '' : `${short(limit)} ${unit}`,
    ratio === null ? '' : ratio.toFixed(2),
    `${goal.bound === 'max' ? '<=' : '>='} ${short(goal.amount)} ${goal.of === 'ratio' ? 'x' : unit}`,
    met ? 'yes' : 'NO',
  ]);
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}

const short = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
