/**
 * Entry point of `npm run study [-- --quick] [--hosts <n>]`: compares schedulers on simulated hosts and
 * prints the results to stdout. `--quick` runs a small study as a check.
 */
import { parseArgs } from 'node:util';
import { terminal } from '../../agent/local/terminal.ts';
import { compare, type Outcome } from './experiment.ts';
import { ratiosOf, rowsOf, tablesOf } from './summary.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    hosts: { type: 'string' },
  },
});
const scale = values.quick
  ? { hosts: 10, jobs: 150, seeds: 2, loads: [0.8, 1.2] }
  : { hosts: 100, jobs: 10_000, seeds: 10, loads: [0.6, 0.9, 1.2] };
const hosts = Number(values.hosts ?? scale.hosts);
const machines = { hosts, cores: 32, memoryBytes: 128 * 2 ** 30 };

const outcomes: Outcome[] = [];
for (const load of scale.loads)
  for (let seed = 1; seed <= scale.seeds; seed++) {
    outcomes.push(...compare({ seed, load, jobs: scale.jobs, machines }));
    terminal.say(`Load ${load}: ${seed} of ${scale.seeds} workloads`);
  }
console.log(tablesOf(rowsOf(outcomes), ratiosOf(outcomes)));
