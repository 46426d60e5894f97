/** Which choice of several a test file runs with in `npm test` (TEST-10). */
import { relative } from 'node:path';
import { expect } from 'vitest';

/**
 * The choice whose turn it is by the name of the test file that is being collected. With `TEST_ALL=on`
 * (`npm run test:all`), all of them.
 */
export function byTurns<T>(choices: readonly T[]): readonly T[] {
  if (process.env.TEST_ALL === 'on') return choices;
  const path = relative(import.meta.dirname, expect.getState().testPath ?? '');
  const turn = [...path].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % choices.length;
  return choices.slice(turn, turn + 1);
}
