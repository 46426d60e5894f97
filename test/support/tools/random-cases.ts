/**
 * Owns fast-check and its seed: tests of random cases try the same ones in each run, so that what has passed passes again.
 * `SEED=7` tries others.
 */
import * as fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) });

export { fc };
