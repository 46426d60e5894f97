/**
 * fast-check with a fixed seed: tests of random cases try the same cases in each run. `SEED=7` tries others.
 */
import * as fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) });

export { fc };
