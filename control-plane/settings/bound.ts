/** Settings that are numbers, as schemas. */
import * as z from 'zod';

const MAX_BOUND = 10_000_000;
export const MAX_MEMORY_MIB = 65_536;

/** A bound of `unit`, such as `executions`. */
export const bound = (value: number, unit: string, max = MAX_BOUND, min = 1) =>
  z.coerce
    .number(`must be a number of ${unit}`)
    .int(`must be a whole number of ${unit}`)
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max} ${unit}`)
    .default(value);

/** A time in seconds, perhaps with a fraction. */
export const secondsOf = (value: number, min: number, max: number) =>
  z.coerce
    .number('must be a number of seconds')
    .min(min, `must be at least ${min} seconds`)
    .max(max, `must be at most ${max} seconds`)
    .default(value);
