import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { breakages, broken } from '../support/sim/faults/breakages.ts';
import { runSeeds } from '../support/sim/runs.ts';

/** Most are caught by one of the first. */
const MOST_SEEDS = 300;
const caught: string[] = [];

test('each breakage changes one line that is in the sources as they are', () => {
  const root = resolve(import.meta.dirname, '../..');
  for (const breakage of breakages)
    expect(broken(readFileSync(resolve(root, breakage.file), 'utf8'), breakage)).toContain(breakage.to);
});

describe('one changed line of the sources is found by the checkers', () => {
  afterAll(() => {
    console.log(
      `What was broken, by which seed it was found, and what the checker said:\n${caught.join('\n')}`,
    );
  });

  test.concurrent.for(breakages.map(({ name }) => name))('%s', async (breakage) => {
    const { failed } = await runSeeds(1, MOST_SEEDS, { breakage });
    caught.push(`${breakage} | ${failed?.seed} | ${failed?.failure.slice(0, 100)}`);
    expect(failed).not.toBeNull();
  });
});
