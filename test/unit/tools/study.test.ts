import { describe, expect, test } from 'vitest';
import { compare, schedulers } from '../../../tools/study/experiment.ts';
import { type Run, Simulation } from '../../../tools/study/simulation.ts';
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

test('there is a row for each scheduler and load and a ratio for each policy', () => {
  const outcomes = [0.8, LOAD].flatMap((load) =>
    [1, 2].flatMap((seed) => compare({ seed, load, jobs: 100, machines })),
  );
  const [rows, ratios] = [rowsOf(outcomes), ratiosOf(outcomes)];
  expect(rows.map(({ load, scheduler }) => ({ load, scheduler }))).toEqual(
    [0.8, LOAD].flatMap((load) => schedulers.map((scheduler) => ({ load, scheduler }))),
  );
  expect(ratios).toHaveLength(2 * 3 * 4);
  expect(tablesOf(rows, ratios)).not.toMatch(/NaN|undefined/);
});

const bySubmission = (a: { submitMs: number }, b: { submitMs: number }) => a.submitMs - b.submitMs;
