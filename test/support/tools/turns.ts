/** Which choice of several a test file runs with in `npm test` (TEST-10). */

/** The first one. With `TEST_ALL=on` (`npm run test:all`), all of them. */
export const byTurns = <T>(choices: readonly T[]): readonly T[] =>
  process.env.TEST_ALL === 'on' ? choices : choices.slice(0, 1);
