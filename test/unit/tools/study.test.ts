import { describe, expect, test } from 'vitest';
import { compare, schedulers } from '../../../tools/study/experiment.ts';
import { plotOf } from '../../../tools/study/plot.ts';
import { type Run, Simulation } from '../../../tools/study/simulation.ts';
import { estimate, percentile, weightedPercentile } from '../../../tools/study/statistics.ts';
import { ratiosOf, rowsOf, tablesOf } from '../../../tools/study/summary.ts';
import { workload } from '../../../tools/study/workload.ts';

const machines = { hosts: 10, cores: 32, memoryBytes: 128 * 1024 ** 3 };
const JOBS = 60;
const LOAD = 1.2;

describe.each(schedulers)('$instances instances, $queue', (scheduler) => {
  test('every job does all of its work, and no host has more reserved than its capacity', () => {
    const jobs = workload(1, JOBS, LOAD, machines);
    const workMs = new Map(jobs.map((job) => [job, 0]));
    let active: [Run, number][] = [];
    let beforeMs = 0;
    let maxReservedCores = 0;
    const simulation = new Simulation(scheduler, machines, jobs, ({ cluster, runs, nowMs }) => {
      for (const [{ job }, instances] of active)
        workMs.set(job, (workMs.get(job) ?? 0) + instances * (nowMs - beforeMs));
      beforeMs = nowMs;
      active = [...runs.values()]
        .filter(({ execution }) => execution.status === 'running')
        .map((run) => [run, run.execution.services.filter(({ status }) => status === 'active').length]);
      for (const host of cluster.hosts.values()) {
        const placed = [...cluster.servicesAt(host.id)].filter(({ placed }) => placed);
        const sum = (need: 'cores' | 'memoryBytes') =>
          placed.reduce((total, { requirement }) => total + requirement[need], 0);
        expect(sum('cores')).toBeLessThanOrEqual(machines.cores);
        expect(sum('memoryBytes')).toBeLessThanOrEqual(machines.memoryBytes);
        maxReservedCores = Math.max(maxReservedCores, sum('cores'));
      }
    });
    simulation.run();
    expect(maxReservedCores).toBeGreaterThan(machines.cores / 2);
    expect(simulation.ended.map(({ job }) => job).toSorted(bySubmission)).toEqual(jobs);
    for (const job of jobs) expect(workMs.get(job)).toBeCloseTo(job.total * job.runMs, 1);
    for (const { job, startMs, endMs } of simulation.ended) {
      expect(startMs).toBeGreaterThanOrEqual(job.submitMs);
      // A run is fastest with all instances from the beginning.
      expect(endMs - startMs).toBeGreaterThanOrEqual(job.runMs - 0.001);
    }
  });
});

test('the same seed gives the same outcome, and another seed gives another outcome', () => {
  const task = { seed: 1, load: LOAD, jobs: 20, machines };
  const outcome = compare(task);
  expect(compare(task)).toEqual(outcome);
  expect(compare({ ...task, seed: 2 })).not.toEqual(outcome);
});

test('elastic instances differ from rigid ones when capacity is scarce', () => {
  const outcomes = compare({ seed: 1, load: LOAD, jobs: 2 * JOBS, machines });
  const [rigid, elastic] = ['rigid', 'elastic'].map((instances) =>
    outcomes.find(({ scheduler }) => scheduler.instances === instances && scheduler.queue === 'FIFO'),
  );
  expect(elastic?.all.waiting.p95).toBeLessThan(rigid?.all.waiting.p95 ?? 0);
});

test('the offered load is the work of all jobs as a share of the capacity until the last submission', () => {
  const jobs = workload(1, 1_000, 0.8, machines);
  const lastMs = jobs.at(-1)?.submitMs ?? 0;
  const share = (need: 'cores' | 'memoryBytes') =>
    jobs.reduce((sum, job) => sum + job.total * job.runMs * job[need], 0) /
    (machines.hosts * machines[need] * lastMs);
  expect(Math.max(share('cores'), share('memoryBytes'))).toBeCloseTo(0.8, 9);
});

test('a workload has all kinds, and heavy tails', () => {
  const jobs = workload(1, 2_000, 1, machines);
  const shares = Map.groupBy(jobs, ({ kind }) => kind);
  expect([...shares].map(([kind, of]) => [kind, Math.round((of.length / jobs.length) * 10)]).sort()).toEqual([
    ['batch elastic', 6],
    ['batch rigid', 2],
    ['interactive', 2],
  ]);
  const works = jobs.map(({ total, runMs }) => total * runMs).sort((a, b) => b - a);
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  expect(sum(works.slice(0, 200)) / sum(works)).toBeGreaterThan(0.5);
  for (const { essential, total } of jobs) expect(essential).toBeLessThanOrEqual(total);
});

test('percentiles use the nearest rank, and percentiles of time are weighted by duration', () => {
  expect(percentile([4, 1, 3, 2], 0.5)).toBe(2);
  expect(percentile([4, 1, 3, 2], 0.95)).toBe(4);
  const weighted = [
    { value: 10, weight: 1 },
    { value: 5, weight: 8 },
    { value: 20, weight: 1 },
  ];
  expect(weightedPercentile(weighted, 0.5)).toBe(5);
  expect(weightedPercentile(weighted, 0.9)).toBe(10);
  expect(weightedPercentile(weighted, 0.95)).toBe(20);
  expect(() => percentile([], 0.5)).toThrow('no values');
});

test('the confidence interval of 2, 4 and 6, by the t distribution, is 4 ± 4.97', () => {
  const { mean, halfWidth } = estimate([2, 4, 6]);
  expect([mean, halfWidth.toFixed(2)]).toEqual([4, '4.97']);
  expect(estimate([3]).halfWidth).toBe(Number.POSITIVE_INFINITY);
});

test('there is a row for each scheduler and load and a ratio for each policy, and the plot draws all rows', () => {
  const outcomes = [0.8, LOAD].flatMap((load) =>
    [1, 2].flatMap((seed) => compare({ seed, load, jobs: 100, machines })),
  );
  const [rows, ratios] = [rowsOf(outcomes), ratiosOf(outcomes)];
  expect(rows.map(({ load, scheduler }) => ({ load, scheduler }))).toEqual(
    [0.8, LOAD].flatMap((load) => schedulers.map((scheduler) => ({ load, scheduler }))),
  );
  expect(ratios).toHaveLength(2 * 3 * 4);
  const plot = plotOf(rows);
  expect(plot.match(/<circle/g)).toHaveLength(4 * rows.length);
  expect(plot).not.toMatch(/NaN|Infinity|undefined/);
  expect(tablesOf(rows, ratios)).not.toMatch(/NaN|undefined/);
});

const bySubmission = (a: { submitMs: number }, b: { submitMs: number }) => a.submitMs - b.submitMs;
