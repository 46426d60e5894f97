import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { mutants, mutate } from '../support/sim/faults/mutants.ts';
import { runSeeds } from '../support/sim/runs.ts';

/** Most are caught by one of the first. */
const MAX_SEEDS = 300;
const caught: string[] = [];

test('each mutant changes one line that is in the sources as they are', () => {
  const root = resolve(import.meta.dirname, '../..');
  for (const mutant of mutants)
    expect(mutate(readFileSync(resolve(root, mutant.file), 'utf8'), mutant)).toContain(mutant.to);
});

describe('one changed line of the sources is found by the checkers', () => {
  afterAll(() => {
    console.log(
      `What was broken, by which seed it was found, and what the checker said:\n${caught.join('\n')}`,
    );
  });

  test.concurrent.for(mutants.map(({ name }) => name))('%s', async (mutant) => {
    const { failed } = await runSeeds(1, MAX_SEEDS, { mutant });
    caught.push(`${mutant} | ${failed?.seed} | ${failed?.failure.slice(0, 100)}`);
    expect(failed).not.toBeNull();
  });
});
