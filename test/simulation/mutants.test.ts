import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { mutate } from '../support/sim/mutants/mutant.ts';
import { mutants } from '../support/sim/mutants/mutants.ts';
import { runSeeds } from '../support/sim/runs.ts';

/** Most mutants are found within the first few seeds. */
const MAX_SEEDS = 300;
const findings: string[] = [];

test('each mutant changes one line that occurs in the sources exactly once', () => {
  const root = resolve(import.meta.dirname, '../..');
  for (const mutant of mutants)
    expect(mutate(readFileSync(resolve(root, mutant.file), 'utf8'), mutant)).toContain(mutant.to);
});

describe('the checks find the mutant', () => {
  afterAll(() => {
    console.log(`Mutant | seed that found it | violation\n${findings.join('\n')}`);
  });

  test.concurrent.for(mutants)('$name', async ({ name, firstSeed = 1 }) => {
    const { failed } = await runSeeds(firstSeed, MAX_SEEDS, { mutant: name });
    findings.push(`${name} | ${failed?.seed} | ${failed?.failure.slice(0, 100)}`);
    expect(failed).not.toBeNull();
  });
});
