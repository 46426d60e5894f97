/** Owns what a benchmark found: a figure, the limit measured beside it, its goal, and how both are shown. Pure. */

export interface Goal {
  /** The figure itself, or its ratio to the limit. */
  of: 'figure' | 'ratio';
  at: 'most' | 'least';
  amount: number;
}

export interface Measurement {
  name: string;
  unit: string;
  figure: number;
  /** The same without Berth, measured in the same run. */
  limit?: number;
  goal: Goal;
}

export interface Result extends Measurement {
  group: string;
  ratio: number | null;
  met: boolean;
}

export const atMost = (amount: number, of: Goal['of'] = 'ratio'): Goal => ({ of, at: 'most', amount });
export const atLeast = (amount: number, of: Goal['of'] = 'ratio'): Goal => ({ of, at: 'least', amount });

export function resultOf(group: string, measurement: Measurement): Result {
  const { figure, limit, goal } = measurement;
  const ratio = limit === undefined ? null : figure / limit;
  const judged = goal.of === 'ratio' ? (ratio ?? Number.NaN) : figure;
  return {
    group,
    ...measurement,
    ratio,
    met: goal.at === 'most' ? judged <= goal.amount : judged >= goal.amount,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (below === undefined || above === undefined) throw new Error('no values to take the median of');
  return (below + above) / 2;
}

/** A table with a line a result, for a terminal. */
export function tableOf(results: readonly Result[]): string {
  const header = ['group', 'figure', '', 'limit', 'ratio', 'goal', 'met'];
  const rows = results.map(({ group, name, unit, figure, limit, ratio, goal, met }) => [
    group,
    name,
    `${short(figure)} ${unit}`,
    limit === undefined ? '' : `${short(limit)} ${unit}`,
    ratio === null ? '' : ratio.toFixed(2),
    `${goal.at === 'most' ? '<=' : '>='} ${short(goal.amount)} ${goal.of === 'ratio' ? 'x' : unit}`,
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
