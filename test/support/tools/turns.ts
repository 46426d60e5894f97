/** What `npm test` runs of what `npm run test:all` runs (TEST-10). */
import { relative } from 'node:path';
import { expect } from 'vitest';

/** True in `npm run test:all`. */
export const testsAll = process.env.TEST_ALL === 'on';

/**
 * The choice whose turn it is by the name of the test file that is being collected. In
 * `npm run test:all`, all of them.
 */
export function byTurns<T>(choices: readonly T[]): readonly T[] {
  if (testsAll) return choices;
  const path = relative(import.meta.dirname, expect.getState().testPath ?? '');
  const turn = [...path].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % choices.length;
  return choices.slice(turn, turn + 1);
}
