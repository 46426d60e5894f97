/** Parses the list filters of a query string. Operations decide who may use them. */
import * as z from 'zod';
import { OperationError } from '../../core/model/errors.ts';
import { executionStatuses } from '../../core/model/execution.ts';
import {
  type ExecutionFilter,
  type ExecutionTime,
  executionTimes,
} from '../../core/views/execution-filter.ts';
import type { Words } from '../words.ts';

const count = z
  .string()
  .regex(/^\d{1,15}$/, 'a number of executions')
  .transform(Number)
  .pipe(z.int().nonnegative());

const seconds = z
  .string()
  .regex(/^-?\d{1,20}(\.\d{0,20})?(e[+-]?\d{1,2})?$/i, 'seconds since the epoch')
  .transform(Number)
  .pipe(z.number());

/**
 * The schema of the query's texts, in the words of the variant. Messages complete the sentence "The filter
 * must be ...".
 */
export function executionFilters(words: Words) {
  const statuses = executionStatuses.map((status) => words.statusOf(status));
  return z
    .strictObject({
      status: z.enum(statuses, `one of: ${statuses.join(', ')}`).describe('The state'),
      name: z.string().min(1, 'the name of an execution').describe('The whole name'),
      user_id: z
        .string()
        .refine((text) => words.ownerOf(text) !== undefined, 'the id of a user')
        .describe('The user who submitted it; for administrators'),
      limit: count.describe('Returns at most this many executions, those submitted last'),
      earlier_than_submit: seconds.describe('Submitted before this time, in seconds since the epoch (UTC)'),
      earlier_than_start: seconds.describe('Started before this time, in seconds since the epoch (UTC)'),
      earlier_than_end: seconds.describe('Ended before this time, in seconds since the epoch (UTC)'),
      later_than_submit: seconds.describe('Submitted after this time, in seconds since the epoch (UTC)'),
      later_than_start: seconds.describe('Started after this time, in seconds since the epoch (UTC)'),
      later_than_end: seconds.describe('Ended after this time, in seconds since the epoch (UTC)'),
    })
    .partial();
}

/** Throws `invalid` with the name of a parameter that is unknown, repeated or not valid. */
export function executionFilter(parameters: URLSearchParams, words: Words): ExecutionFilter {
  const filters = executionFilters(words);
  const names = Object.keys(filters.shape);
  const seen = new Set<string>();
  for (const name of parameters.keys()) {
    if (!names.includes(name)) throw new OperationError('invalid', unknownFilter(name, names));
    if (seen.has(name)) throw new OperationError('invalid', `The filter ${name} is given more than once.`);
    seen.add(name);
  }
  const given = filters.safeParse(Object.fromEntries(parameters));
  if (given.success) return filterOf(given.data, words);
  const { path, message } = given.error.issues[0] ?? { path: [], message: 'valid' };
  throw new OperationError('invalid', `The filter ${path.join('.')} must be ${message}.`);
}

type Given = z.infer<ReturnType<typeof executionFilters>>;

function filterOf(given: Given, words: Words): ExecutionFilter {
  const filter: ExecutionFilter = {
    earlierThanMs: timesOf('earlier_than', given),
    laterThanMs: timesOf('later_than', given),
  };
  const status = executionStatuses.find((one) => words.statusOf(one) === given.status);
  const owner = given.user_id === undefined ? undefined : words.ownerOf(given.user_id);
  if (status) filter.status = status;
  if (owner) filter.owner = owner;
  if (given.name !== undefined) filter.name = given.name;
  if (given.limit !== undefined) filter.limit = given.limit;
  return filter;
}

function timesOf(side: 'earlier_than' | 'later_than', given: Given): Partial<Record<ExecutionTime, number>> {
  const times: Partial<Record<ExecutionTime, number>> = {};
  for (const time of executionTimes) {
    const at = given[`${side}_${time}`];
    if (at !== undefined) times[time] = milliseconds(at);
  }
  return times;
}

/** Beyond every real time, and still a safe integer. */
const LAST_MS = 8.64e15;

/** Rounds to microseconds, so that a time from an answer is read back as exactly the same millisecond. */
const milliseconds = (at: number): number =>
  Math.max(-LAST_MS, Math.min(LAST_MS, Math.round(at * 1e6) / 1e3));

const unknownFilter = (name: string, names: readonly string[]) =>
  `There is no filter ${name.slice(0, 40)}; the filters are ${names.join(', ')}.`;
