/** Summarises all seeds: estimates of each figure, and the ratio of elastic to rigid. Pure. */
import { type Outcome, type Spread, schedulers } from './experiment.ts';
import type { Scheduler } from './simulation.ts';
import { type Estimate, estimate } from './statistics.ts';
import { type Kind, kinds } from './workload.ts';

export type Figure = (outcome: Outcome) => number;

export interface Row {
  load: number;
  scheduler: Scheduler;
  /** In the order of `columns`. */
  estimates: Estimate[];
}

export interface Ratio {
  load: number;
  queue: Scheduler['queue'];
  kind: Kind | 'all';
  /** Turnaround with elastic instances as a share of that with rigid instances, on the same workload. */
  median: Estimate;
  p95: Estimate;
}

export const columns: readonly { name: string; figure: Figure }[] = [
  { name: 'turnaround, median', figure: ({ all }) => all.turnaround.median },
  { name: 'turnaround, p95', figure: ({ all }) => all.turnaround.p95 },
  { name: 'waiting, median', figure: ({ all }) => all.waiting.median },
  { name: 'waiting, p95', figure: ({ all }) => all.waiting.p95 },
  { name: 'allocation, median', figure: ({ allocation }) => allocation.median * 100 },
  { name: 'allocation, p95', figure: ({ allocation }) => allocation.p95 * 100 },
];

const loadsOf = (outcomes: readonly Outcome[]): number[] => [...new Set(outcomes.map(({ load }) => load))];

export function rowsOf(outcomes: readonly Outcome[]): Row[] {
  return loadsOf(outcomes).flatMap((load) =>
    schedulers.map((scheduler) => {
      const here = select(outcomes, load, scheduler);
      return { load, scheduler, estimates: columns.map(({ figure }) => estimate(here.map(figure))) };
    }),
  );
}

/**
 * Ratios are computed per seed, because both schedulers had the same workload. Variation between seeds is
 * therefore not part of the interval.
 */
export function ratiosOf(outcomes: readonly Outcome[]): Ratio[] {
  const queues = [...new Set(schedulers.map(({ queue }) => queue))];
  return loadsOf(outcomes).flatMap((load) =>
    queues.flatMap((queue) => {
      const rigid = select(outcomes, load, { instances: 'rigid', queue });
      const elastic = select(outcomes, load, { instances: 'elastic', queue });
      return (['all', ...kinds] as const).map((kind) => {
        const turnaround = (outcome: Outcome): Spread =>
          (kind === 'all' ? outcome.all : outcome.byKind[kind]).turnaround;
        const share = (of: keyof Spread) =>
          estimate(elastic.map((one, n) => turnaround(one)[of] / turnaround(rigid[n] as Outcome)[of]));
        return { load, queue, kind, median: share('median'), p95: share('p95') };
      });
    }),
  );
}

/** Sorted by seed. */
function select(outcomes: readonly Outcome[], load: number, { instances, queue }: Scheduler): Outcome[] {
  return outcomes
    .filter(
      (one) => one.load === load && one.scheduler.instances === instances && one.scheduler.queue === queue,
    )
    .toSorted((a, b) => a.seed - b.seed);
}

/** Formats both as Markdown tables, which are readable in a terminal too. */
export function tablesOf(rows: readonly Row[], ratios: readonly Ratio[]): string {
  const figures = table(
    ['load', 'instances', 'queue', ...columns.map(({ name }) => name)],
    rows.map(({ load, scheduler, estimates }) => [
      String(load),
      scheduler.instances,
      scheduler.queue,
      ...estimates.map(short),
    ]),
  );
  const shares = table(
    ['load', 'queue', 'kind', 'turnaround, median', 'turnaround, p95'],
    ratios.map(({ load, queue, kind, median, p95 }) => [
      String(load),
      queue,
      kind,
      short(median),
      short(p95),
    ]),
  );
  return `Times in s, allocation in % of the scarcer resource; mean over seeds ± 95 % confidence interval.\n\n${figures}\n\nElastic as a share of rigid, on the same workload:\n\n${shares}`;
}

function table(header: readonly string[], rows: readonly string[][]): string {
  const lines = [header, header.map(() => '---'), ...rows];
  const widths = header.map((_, n) => Math.max(...lines.map((line) => line[n]?.length ?? 0)));
  return lines
    .map((line) => `| ${line.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |`)
    .join('\n');
}

/** A single seed has no interval. */
const short = ({ mean, halfWidth }: Estimate): string =>
  Number.isFinite(halfWidth) ? `${digits(mean)} ± ${digits(halfWidth)}` : digits(mean);

const digits = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
