/**
 * fast-check with a fixed seed: tests of random cases try the same cases in each run. `SEED=7` tries others,
 * and `CASES=10` tries ten times as many.
 */
import * as fc from 'fast-check';

const FACTOR = Number(process.env.CASES ?? 1);

/** The number of cases of a test that usually tries `usual` of them. */
export const caseCount = (usual: number): number => Math.ceil(usual * FACTOR);
/** The same as options of a property. */
export const cases = (usual: number) => ({ numRuns: caseCount(usual) });

fc.configureGlobal({ seed: Number(process.env.SEED ?? 1), ...cases(30) });

export { fc };
