import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { mutate } from '../support/sim/mutants/mutant.ts';
import { mutants } from '../support/sim/mutants/mutants.ts';
import { MutantSearch, maxDurationMs } from '../support/sim/runs.ts';
import { testsAll } from '../support/tools/scope.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** The last seed of a search. Most mutants are found within the first few seeds, the rarest in one of 300. */
const MAX_SEEDS = 700;
/** For each mutant the seed that found it last, which is tried before seed 1 (TEST-13). */
const FOUND = resolve(ROOT, 'test/support/sim/mutants/found.json');
const seedOf: Record<string, number> = JSON.parse(readFileSync(FOUND, 'utf8'));
const findings: string[] = [];
const isSearch = process.env.MUTANTS === 'search';
const isWhole = testsAll || isSearch;
const wanted = mutants.filter(({ inShortForm }) => isWhole || inShortForm);
/** One process serves the short form: the start of a second takes more than it saves. */
const each = isWhole ? test.concurrent : test;

test('each mutant changes one line that occurs in the sources exactly once', () => {
  for (const mutant of mutants)
    expect(mutate(readFileSync(resolve(ROOT, mutant.file), 'utf8'), mutant)).toContain(mutant.to);
});

describe('the checks find the mutant', () => {
  const search = new MutantSearch();

  afterAll(async () => {
    await search.end();
    console.log(`Mutant | seeds tried | seed that found it | violation\n${findings.join('\n')}`);
    if (!isSearch) return;
    // Seed 1 is tried first anyway.
    const seeds = mutants.flatMap(({ name }) => ((seedOf[name] ?? 1) > 1 ? [[name, seedOf[name]]] : []));
    writeFileSync(FOUND, `${JSON.stringify(Object.fromEntries(seeds), null, 2)}\n`);
  });

  each.for(wanted)('$name', { timeout: maxDurationMs(MAX_SEEDS) }, async ({ name }) => {
    const { runs, failed } = await search.find(name, seedOf[name], MAX_SEEDS);
    findings.push(`${name} | ${runs} | ${failed?.seed} | ${failed?.failure.slice(0, 100)}`);
    expect(failed).not.toBeNull();
    if (failed) seedOf[name] = failed.seed;
  });
});
