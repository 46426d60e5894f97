/**
 * Entry of `npm test` and `npm run test:all`: types, lint, the Worker's bundle, and the tests by vitest. Ends
 * with the line `N passed, N failed`. What this machine lacks leaves tests out, each with a line; with
 * `REQUIRE=all` that is a failure.
 *
 *   npm test -- [--changed] [--bail] [PATH...]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createVitest } from 'vitest/node';
import { type Counts, FolderReporter } from './support/reports/folder-reporter.ts';
import { reachedByChanges } from './support/tools/changes.ts';
import { furtherNeeds, mayNeed, needs } from './support/tools/needs.ts';
import { measureStartMs, processorSeconds } from './support/tools/processor.ts';
import { readTool, runTool, stopTools } from './support/tools/tool.ts';

const MAX_BUNDLE_KIB = 1024;
const MAX_MESSAGE_LENGTH = 500;
const QUICK = ['unit', 'api', 'cli', 'contract', 'contract-engine', 'smoke', 'simulation'];
const FURTHER = ['hosts', 'engine', 'e2e', 'cluster', 'install', 'browser', 'measured', 'load'];
/** The start of Node on the machine for which the limits of a whole run are meant. */
const START_MS = 60;

const { values: options, positionals: paths } = parseArgs({
  options: { all: { type: 'boolean' }, changed: { type: 'boolean' }, bail: { type: 'boolean' } },
  allowPositionals: true,
});
const limitMinutes = options.all ? 50 : 8;
const startedMs = performance.now();
const total: Counts = { passed: 0, failed: 0 };
const unproved: string[] = [];
const failures: string[] = [];
let interrupted: NodeJS.Signals | undefined;
let cancelTests = () => {};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted ??= signal;
    stopTools(signal);
    cancelTests();
  });
}
if (options.all) Object.assign(process.env, { TEST_ALL: 'on', CASES: process.env.CASES ?? '10' });

const startMs = measureStartMs();
print(`A start of Node takes ${startMs.toFixed(0)} ms on this machine.`);
const chosen = options.changed ? await reachedByChanges(QUICK.map((kind) => `test/${kind}`)) : paths;
if (options.changed) print(`${chosen.length} test files are reached by the changes of the working tree.`);
const isPart = options.changed === true || paths.length > 0;
const left = new Set<string>();
const ends: (() => Promise<void>)[] = [];
// Sources keep the processors busy, installations mostly the network.
await Promise.all([checkSources(), findPrograms()]);
if (!isOver() && (!isPart || chosen.length > 0)) await runTests();
for (const end of ends) await end().catch((error) => fail('the end of the engine', error));
await report();

async function checkSources(): Promise<void> {
  await step('types', () => runTool('npm', ['run', '--silent', 'types']));
  await step('lint', () => runTool('npm', ['run', '--silent', 'lint']));
  await step('Worker bundle', checkBundle);
}

/** One after the other: only one program can install packages. */
async function findPrograms(): Promise<void> {
  for (const need of [...needs, ...(options.all ? furtherNeeds : [])]) {
    if (isOver()) return;
    const { name, tests, ensure } = need;
    if (isPart && !chosen.some((path) => mayNeed(path, need))) continue;
    try {
      const end = await ensure(print);
      if (end) ends.push(end);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const missed = tests.filter((path) => options.all || !path.startsWith('test/all/'));
      unproved.push(`Not proved: ${missed.join(', ')}, for lack of ${name}: ${reason}`);
      for (const path of tests) left.add(path);
    }
  }
}

async function checkBundle(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-bundle-'));
  const args = ['deploy', '--dry-run', '--config', 'wrangler.toml', '--outdir', folder];
  const output = await readTool('wrangler', args).finally(() => rm(folder, { recursive: true }));
  const sizeKib = Number(output.match(/gzip: ([\d.]+) KiB/)?.[1]);
  if (Number.isNaN(sizeKib)) throw new Error(`wrangler did not print the size of the bundle:\n${output}`);
  if (sizeKib > MAX_BUNDLE_KIB)
    throw new Error(`The compressed bundle has ${sizeKib} KiB; the limit is ${MAX_BUNDLE_KIB} KiB`);
}

async function runTests(): Promise<void> {
  const reporter = new FolderReporter();
  const vitest = await createVitest({
    ...{ run: true, watch: false, passWithNoTests: true, reporters: [reporter], cliExclude: [...left] },
    ...{ project: options.all ? [...QUICK, ...FURTHER] : QUICK, bail: options.bail ? 1 : 0 },
  });
  cancelTests = () => void vitest.cancelCurrentRun('keyboard-input');
  try {
    await vitest.start([...chosen]);
  } catch (error) {
    fail('tests', error);
  } finally {
    await vitest.close();
  }
  total.passed += reporter.total.passed;
  total.failed += reporter.total.failed;
  failures.push(...reporter.failures);
  if (reporter.total.passed + reporter.total.failed === 0 && unproved.length === 0)
    fail('tests', new Error(`no test is below ${chosen.join(' or ')}`));
}

/** Counts as one test. After an interrupt or, with `--bail`, a failure, further steps are skipped. */
async function step(name: string, run: () => Promise<void>): Promise<void> {
  if (isOver()) return;
  const beganMs = performance.now();
  try {
    await run();
    total.passed += 1;
    print(`${((performance.now() - beganMs) / 1_000).toFixed(1).padStart(8)} s  ${name}`);
  } catch (error) {
    fail(name, error);
  }
}

function fail(name: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  print(`  FAILED  ${name}: ${message}`);
  total.failed += 1;
  failures.push(`${name}: ${message.slice(0, MAX_MESSAGE_LENGTH)}`);
}

function isOver(): boolean {
  return interrupted !== undefined || (options.bail === true && total.failed > 0);
}

async function report(): Promise<void> {
  const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
  const limit = (limitMinutes * Math.max(1, startMs / START_MS)).toFixed(0);
  print(`\n${minutes} minutes on ${availableParallelism()} processors; the limit here is ${limit}.`);
  print(`${(await processorSeconds())?.toFixed(0)} seconds of processor time.`);
  for (const line of failures) print(`FAILED ${line.replaceAll(/\s+/g, ' ')}`);
  for (const line of unproved) print(line);
  if (process.env.REQUIRE === 'all') total.failed += unproved.length;
  if (interrupted) print(`Interrupted by ${interrupted}`);
  print(`${total.passed} passed, ${total.failed} failed`);
  process.exitCode = interrupted || total.failed > 0 ? 1 : 0;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
