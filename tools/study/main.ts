/**
 * Entry point of `npm run study [-- --quick] [--hosts <n>] [--json] [--svg <file>] [--workers <n>]`: compares
 * schedulers on simulated hosts and prints the results to stdout. `--quick` runs a small study as a check;
 * `--svg` also draws the plot.
 */
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { terminal } from '../../agent/local/terminal.ts';
import type { Outcome, Task } from './experiment.ts';
import { plotOf } from './plot.ts';
import { ratiosOf, rowsOf, tablesOf } from './summary.ts';
import type { Machines } from './workload.ts';

const GIB = 1024 ** 3;

interface Scale {
  machines: Machines;
  jobs: number;
  seeds: number;
  loads: readonly number[];
}

const full: Scale = {
  machines: { hosts: 100, cores: 32, memoryBytes: 128 * GIB },
  jobs: 10_000,
  seeds: 10,
  loads: [0.6, 0.9, 1.2],
};
const quick: Scale = {
  machines: { hosts: 10, cores: 32, memoryBytes: 128 * GIB },
  jobs: 150,
  seeds: 2,
  loads: [0.8, 1.2],
};

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    hosts: { type: 'string' },
    json: { type: 'boolean', default: false },
    svg: { type: 'string' },
    workers: { type: 'string', default: String(availableParallelism()) },
  },
});

const scale = values.quick ? quick : full;
const hosts = Number(values.hosts ?? scale.machines.hosts);
const tasks = tasksOf({ ...scale, machines: { ...scale.machines, hosts } });
const outcomes = await compareAll(tasks, Math.max(1, Number(values.workers)));
const [rows, ratios] = [rowsOf(outcomes), ratiosOf(outcomes)];
console.log(values.json ? JSON.stringify({ rows, ratios, outcomes }) : tablesOf(rows, ratios));
if (values.svg !== undefined) await writeFile(values.svg, plotOf(rows));

/** The longest tasks come first, so that no worker runs a long task alone at the end. */
function tasksOf({ machines, jobs, seeds, loads }: Scale): Task[] {
  return loads
    .toSorted((a, b) => b - a)
    .flatMap((load) => Array.from({ length: seeds }, (_, n) => ({ seed: n + 1, load, jobs, machines })));
}

/**
 * Returns the outcomes in the order of their loads. Each worker has one task at a time. A failed task ends
 * the study.
 */
async function compareAll(tasks: readonly Task[], workerCount: number): Promise<Outcome[]> {
  const waiting = [...tasks];
  const outcomes: Outcome[] = [];
  let done = 0;
  const work = () =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL('./worker.ts', import.meta.url));
      const next = () => {
        const task = waiting.shift();
        if (task) return worker.postMessage(task);
        void worker.terminate();
        resolve();
      };
      worker.on('error', reject);
      worker.on('message', (answer: Outcome[]) => {
        outcomes.push(...answer);
        terminal.say(`${++done} of ${tasks.length} workloads`);
        next();
      });
      next();
    });
  await Promise.all(Array.from({ length: workerCount }, work));
  return outcomes.toSorted((a, b) => a.load - b.load);
}
