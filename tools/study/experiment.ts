/** Compares schedulers on the same workload, and computes the figures of each. Pure. */
import { type Ended, type Scheduler, Simulation } from './simulation.ts';
import { percentile, weightedPercentile } from './statistics.ts';
import { type Kind, kinds, type Machines, workload } from './workload.ts';

/** One workload. */
export interface Task {
  seed: number;
  load: number;
  jobs: number;
  machines: Machines;
}

/** Result of one scheduler on one workload. Times are in seconds. */
export interface Outcome {
  seed: number;
  load: number;
  scheduler: Scheduler;
  all: Times;
  byKind: Record<Kind, Times>;
  /** Reserved share of the scarcer resource, weighted by time until the last submission. */
  allocation: Spread;
}

export interface Times {
  /** From submission to end. */
  turnaround: Spread;
  /** From submission to the start of the last essential instance. */
  waiting: Spread;
}

export interface Spread {
  median: number;
  p95: number;
}

export const schedulers: readonly Scheduler[] = (['rigid', 'elastic'] as const).flatMap((instances) =>
  (['FIFO', 'SIZE', 'DYNSIZE'] as const).map((queue) => ({ instances, queue })),
);

/** Runs every scheduler on the task's workload. */
export function compare({ seed, load, jobs, machines }: Task): Outcome[] {
  const submitted = workload(seed, jobs, load, machines);
  return schedulers.map((scheduler) => {
    const simulation = new Simulation(scheduler, machines, submitted);
    simulation.run();
    const { ended, allocations } = simulation;
    const byKind = Object.fromEntries(
      kinds.map((kind) => [kind, timesOf(ended.filter(({ job }) => job.kind === kind))]),
    ) as Record<Kind, Times>;
    const weighted = allocations.map(({ share, forMs }) => ({ value: share, weight: forMs }));
    const allocation = spread((share) => weightedPercentile(weighted, share));
    return { seed, load, scheduler, all: timesOf(ended), byKind, allocation };
  });
}

function timesOf(ended: readonly Ended[]): Times {
  const turnarounds = ended.map(({ job, endMs }) => (endMs - job.submitMs) / 1_000);
  const waits = ended.map(({ job, startMs }) => (startMs - job.submitMs) / 1_000);
  return {
    turnaround: spread((share) => percentile(turnarounds, share)),
    waiting: spread((share) => percentile(waits, share)),
  };
}

const spread = (at: (share: number) => number): Spread => ({ median: at(0.5), p95: at(0.95) });
