/**
 * Entry point of `npm run mutants -- [--seed TEXT] [--count N] [--only N,...] [--near] [--all] [--list]
 * [--json FILE]`: draws single-line changes of coordinator, agent and store, and runs the tests on each in a
 * copy of HEAD. Exits with 0 after all, 2 if the tests fail without a change, and 130 after an interrupt.
 */
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Copy, head } from './copy.ts';
import { type Change, drawn } from './draw.ts';

/** A change may make a loop endless. */
const LIMIT_MS = { near: 15 * 60_000, test: 60 * 60_000, 'test:all': 4 * 60 * 60_000 };

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: head() },
    count: { type: 'string', default: '20' },
    only: { type: 'string' },
    all: { type: 'boolean', default: false },
    near: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
const seed = values.seed;
const count = Number(values.count);
const only = values.only?.split(',').map(Number);
/** What runs after the nearest tests. */
const scripts: readonly ('test' | 'test:all')[] = values.near
  ? []
  : values.all
    ? ['test', 'test:all']
    : ['test'];
const print = (line: string) => void process.stdout.write(`${line}\n`);

/** Scripts that have passed on the unchanged sources. */
const green = new Set<string>();
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

const copy = await Copy.create();
try {
  await main();
} catch (error) {
  if (!stop.signal.aborted) print(error instanceof Error ? error.message : String(error));
  process.exitCode = stop.signal.aborted ? 130 : 2;
} finally {
  await copy.remove();
}

async function main(): Promise<void> {
  print(`Seed ${seed}, sources of ${head()}`);
  let [number, tried, found] = [0, 0, 0];
  for (const change of drawn(copy.sources(), seed)) {
    stop.signal.throwIfAborted();
    if (number >= count) break;
    if (!(await copy.accepts(change))) continue;
    number += 1;
    if (only && !only.includes(number)) continue;
    print(`\n${number}. ${change.path}:${change.line}`);
    print(`   - ${change.before.trim()}\n   + ${change.after?.trim() ?? '(removed)'}`);
    if (values.list) continue;
    tried += 1;
    const startMs = performance.now();
    const failure = await firstFailure(change);
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    if (failure !== undefined) {
      await confirmTimeout(failure);
      found += 1;
    }
    print(
      failure === undefined
        ? `   survived in ${seconds} s`
        : `   found by ${failure.slice(0, 300)} in ${seconds} s`,
    );
    const record = {
      seed,
      number,
      ...change,
      after: change.after ?? null,
      foundBy: failure ?? null,
      seconds,
    };
    if (values.json) appendFileSync(values.json, `${JSON.stringify(record)}\n`);
  }
  if (!values.list) print(`\n${found} of ${tried} found`);
}

/** A test that takes too long proves nothing about a change on a machine that is too busy for the test. */
async function confirmTimeout(failure: string): Promise<void> {
  const [file = ''] = failure.split(': ');
  if (!/timed out/i.test(failure) || !file.startsWith('test/')) return;
  const unchanged = await failureOf('test', LIMIT_MS.near, [file]);
  if (unchanged !== undefined) throw new Error(`without a change, the machine is too busy for ${unchanged}`);
}

/** The first failure of the nearest tests, else of `npm test`, else with `--all` of `npm run test:all`. */
async function firstFailure(change: Change): Promise<string | undefined> {
  for (const script of scripts) await proveGreen(script);
  return copy.with(change, async () => {
    const near = await failureOf('test', LIMIT_MS.near, [copy.nearestTests(change.path)]);
    if (near !== undefined) return near;
    for (const script of scripts) {
      const failure = await failureOf(script, LIMIT_MS[script]);
      if (failure !== undefined) return failure;
    }
    return undefined;
  });
}

/** A failure proves nothing about a change if the unchanged sources fail as well. */
async function proveGreen(script: 'test' | 'test:all'): Promise<void> {
  if (green.has(script)) return;
  const failure = await failureOf(script, LIMIT_MS[script]);
  if (failure !== undefined) throw new Error(`npm run ${script} fails without a change: ${failure}`);
  green.add(script);
}

async function failureOf(script: string, limitMs: number, paths: string[] = []): Promise<string | undefined> {
  const limit = AbortSignal.timeout(limitMs);
  const args = ['run', script, '--silent', '--', '--bail', ...paths];
  const { isGreen, output } = await copy.npm(args, AbortSignal.any([stop.signal, limit]));
  stop.signal.throwIfAborted();
  if (limit.aborted) return `the limit of ${limitMs / 60_000} minutes`;
  return isGreen ? undefined : copy.failureIn(output);
}
