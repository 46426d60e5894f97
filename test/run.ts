/**
 * Entry point of `npm test`: types, lint, the worker bundle, the engine, every vitest project, and a test for
 * every rule. Ends with the line `N passed, N failed`, which counts each test of vitest and each other step
 * as one. `npm test -- PATH...` runs only the tests below these paths, and proves no rules.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { connectEngine } from '../agent/engine/engine-address.ts';
import { ensureEngine, type LocalEngine } from '../agent/local/local-engine.ts';
import { terminal } from '../agent/local/terminal.ts';
import { ensureImage } from '../examples/image.ts';
import { ensureChromium } from './support/browser/chromium.ts';
import { ensureSlapd } from './support/directory/slapd.ts';
import { removeKilledRuns } from './support/engines/leftovers.ts';
import { ensureNotebookRoot } from './support/engines/notebook-image.ts';
import { type Counts, countTests, failuresIn } from './support/reports/count.ts';
import { checkRules, titlesOf } from './support/reports/rules.ts';
import { slowestFiles } from './support/reports/slowest.ts';
import { ensurePrometheus } from './support/tools/prometheus.ts';
import { ensureShells } from './support/tools/shells.ts';
import { readTool, runTool, stopTools } from './support/tools/tool.ts';

const MAX_BUNDLE_KIB = 1024;
const RULES = ['control-plane/SPEC.md', 'shared/protocol/PROTOCOL.md', 'cli/SPEC.md'];
const JSON_REPORT = resolve(import.meta.dirname, 'support/reports/json-report.ts');
const ROOT = resolve(import.meta.dirname, '..');
const SLOWEST = 10;
const ONE: Counts = { passed: 1, failed: 0 };
const PATHS = process.argv.slice(2);

const total: Counts = { passed: 0, failed: 0 };
let engine: LocalEngine | undefined;
let interrupted: NodeJS.Signals | undefined;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted ??= signal;
    stopTools(signal);
  });
}

const folder = await mkdtemp(join(tmpdir(), 'berth-test-'));
/** Paths of vitest's JSON reports, one per run. */
const reports: string[] = [];
/** A line for each failure, printed again at the end, where the end of a long output shows them. */
const failures: string[] = [];
// Checks need the processors, and installations mostly the network.
await Promise.all([checkSources(), findPrograms()]);
await step('tests', runTests);
// Without an engine most tests have not run, so their titles prove nothing about the rules.
if (engine && PATHS.length === 0) await step('a test for every rule', proveRules);
await printSlowest();
await rm(folder, { recursive: true, force: true });
if (engine?.started && !(await stopEngine(engine))) total.failed += 1;
for (const line of failures) print(`FAILED ${line}`);
if (interrupted) print(`Interrupted by ${interrupted}`);
print(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = interrupted || total.failed > 0 ? 1 : 0;

async function checkSources(): Promise<void> {
  await step('types', () => npmScript('types'));
  await step('lint', () => npmScript('lint'));
  // Runs before the tests, so that they find wrangler's code in the compile cache.
  await step('worker bundle', buildWorker);
}

/** One after the other: only one program can install packages. */
async function findPrograms(): Promise<void> {
  await step('engine and image', startEngine);
  await step('browser', findBrowser);
  await step('prometheus', findPrometheus);
  await step('shells', findShells);
  await step('slapd', findSlapd);
  await step('notebook', findNotebook);
}

/** Runs a step. A step that throws counts as one failure. After an interrupt, further steps are skipped. */
async function step(name: string, run: () => Promise<Counts>): Promise<void> {
  if (interrupted) return;
  print(`\n== ${name}`);
  const startMs = performance.now();
  const counts = await run().catch((error): Counts => {
    const message = error instanceof Error ? error.message : String(error);
    print(message);
    failures.push(`${name}: ${message.slice(0, 1_500)}`);
    return { passed: 0, failed: 1 };
  });
  total.passed += counts.passed;
  total.failed += counts.failed;
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  print(`== ${name}: ${counts.failed > 0 ? 'FAILED' : 'ok'} in ${seconds} s`);
}

async function npmScript(name: string): Promise<Counts> {
  await runTool('npm', ['run', '--silent', name]);
  return ONE;
}

async function startEngine(): Promise<Counts> {
  engine = await ensureEngine(terminal);
  process.env.DOCKER_HOST = engine.host;
  const docker = connectEngine(engine.host);
  const { Version } = await docker.version();
  print(`Engine ${Version} at ${engine.host}, image ${await ensureImage(docker)}`);
  const left = await removeKilledRuns(docker);
  if (left.length > 0) print(`Removed ${left.length} containers and networks of a run that was killed`);
  return ONE;
}

async function findBrowser(): Promise<Counts> {
  print(`Chromium at ${await ensureChromium(print)}`);
  return ONE;
}

async function findPrometheus(): Promise<Counts> {
  const { prometheus } = await ensurePrometheus(print);
  print(`Prometheus at ${prometheus}`);
  return ONE;
}

async function findSlapd(): Promise<Counts> {
  const { program } = await ensureSlapd(print);
  print(`slapd at ${program}`);
  return ONE;
}

async function findNotebook(): Promise<Counts> {
  print(`Notebook at ${await ensureNotebookRoot(print)}`);
  return ONE;
}

async function findShells(): Promise<Counts> {
  const paths = Object.values(await ensureShells(print));
  print(`Shells at ${paths.join(', ')}`);
  return ONE;
}

/**
 * Runs vitest twice at the same time, since each run often waits for containers and restarts. Both take
 * about as long. A third one would only wait for the processors (TEST-21). The output of the second run
 * follows that of the first. Without an engine only the tests that need none run; the missing engine is
 * counted already.
 */
async function runTests(): Promise<Counts> {
  const kinds = engine
    ? [
        ['unit', 'browser', 'api', 'cli', 'hosts'],
        ['smoke', 'contract', 'contract-engine', 'engine', 'e2e', 'simulation', 'e2e-alone'],
      ]
    : [['unit', 'contract', 'simulation']];
  reports.push(...kinds.map((_, n) => join(folder, `vitest-${n}.json`)));
  const runs = kinds.map((projects, n) => runVitest(projects, reports[n] ?? '', n === 0));
  const counts = { passed: 0, failed: 0 };
  for (const run of runs) {
    const { output, passed, failed } = await run;
    print(output);
    counts.passed += passed;
    counts.failed += failed;
  }
  return counts;
}

async function runVitest(
  projects: string[],
  report: string,
  isShown: boolean,
): Promise<Counts & { output: string }> {
  const args = ['run', ...projects.flatMap((project) => ['--project', project])];
  args.push('--reporter', 'default', '--reporter', JSON_REPORT, '--outputFile.json', report);
  if (PATHS.length > 0) args.push('--passWithNoTests', ...PATHS);
  let failure: unknown;
  const output = await (isShown ? runTool('vitest', args) : readTool('vitest', args)).catch((error) => {
    failure = error;
    return String(error instanceof Error ? error.message : error);
  });
  const json = await readReport(report);
  const counts = countTests(json);
  failures.push(...failuresIn(json));
  // vitest also fails for errors outside of tests, such as an unhandled rejection.
  const isEmpty = counts.passed + counts.failed === 0 && PATHS.length === 0;
  if (isEmpty || (failure && counts.failed === 0)) {
    counts.failed += 1;
    failures.push(`vitest of ${projects.join(', ')}: ${output?.slice(-500)}`);
  }
  return { ...counts, output: output ?? '' };
}

/** A vitest that failed early has written no report. */
function readReport(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '{"testResults": []}');
}

async function printSlowest(): Promise<void> {
  const files = slowestFiles(await Promise.all(reports.map(readReport)), SLOWEST, ROOT);
  if (files.length > 0) print(`\n== the slowest files of tests\n${files.join('\n')}\n`);
}

async function proveRules(): Promise<Counts> {
  const documents = await Promise.all(RULES.map((path) => readFile(resolve(ROOT, path), 'utf8')));
  const titles = await Promise.all(reports.map(async (report) => titlesOf(await readFile(report, 'utf8'))));
  const problems = checkRules(documents, titles.flat());
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return ONE;
}

async function buildWorker(): Promise<Counts> {
  const output = await readTool('wrangler', [
    'deploy',
    '--dry-run',
    '--config',
    'wrangler.toml',
    '--outdir',
    join(folder, 'worker'),
  ]);
  const sizeKib = Number(output.match(/gzip: ([\d.]+) KiB/)?.[1]);
  if (Number.isNaN(sizeKib)) throw new Error(`wrangler did not print the size of the bundle:\n${output}`);
  const size = `The compressed bundle has ${sizeKib} KiB; the limit is ${MAX_BUNDLE_KIB} KiB`;
  if (sizeKib > MAX_BUNDLE_KIB) throw new Error(size);
  print(size);
  return ONE;
}

async function stopEngine(started: LocalEngine): Promise<boolean> {
  try {
    await started.stop();
    return true;
  } catch (error) {
    print(error instanceof Error ? error.message : String(error));
    return false;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
