/** Owns the reading of the list filters in a query string. Decides nothing about who may use them. */
import { OperationError } from '../core/errors.ts';
import { executionStatuses } from '../core/execution.ts';
import { type ExecutionFilter, executionTimes } from '../core/execution-filter.ts';
import type { Variant } from './variant.ts';

/** Throws `invalid`, naming the parameter, for one that is unknown, given twice, or can't be read. */
export function executionFilter(parameters: URLSearchParams, variant: Variant): ExecutionFilter {
  const filter: ExecutionFilter = {};
  const seen = new Set<string>();
  for (const [name, text] of parameters) {
    const read = READERS.get(name);
    if (!read) throw new OperationError('invalid', unknownFilter(name));
    if (seen.has(name)) throw new OperationError('invalid', `The filter ${name} is given more than once.`);
    seen.add(name);
    const problem = read(filter, text, variant);
    if (problem) throw new OperationError('invalid', `The filter ${name} must be ${problem}.`);
  }
  return filter;
}

/** Puts the value into the filter, or returns what it must be. */
type Reader = (filter: ExecutionFilter, text: string, variant: Variant) => string | undefined;

const readStatus: Reader = (filter, text, variant) => {
  const status = executionStatuses.find((one) => variant.statusOf(one) === text);
  if (!status) return `one of: ${executionStatuses.map((one) => variant.statusOf(one)).join(', ')}`;
  filter.status = status;
};

const readName: Reader = (filter, text) => {
  if (text === '') return 'the name of an execution';
  filter.name = text;
};

const readOwner: Reader = (filter, text, variant) => {
  const owner = variant.ownerOf(text);
  if (!owner) return 'the id of a user';
  filter.owner = owner;
};

const readLimit: Reader = (filter, text) => {
  if (!/^\d{1,15}$/.test(text)) return 'a number of executions';
  filter.limit = Number(text);
};

const READERS = new Map<string, Reader>([
  ['status', readStatus],
  ['name', readName],
  ['user_id', readOwner],
  ['limit', readLimit],
  ...executionTimes.flatMap((time): [string, Reader][] => [
    [
      `earlier_than_${time}`,
      timeReader((filter, ms) => (filter.earlierThanMs = { ...filter.earlierThanMs, [time]: ms })),
    ],
    [
      `later_than_${time}`,
      timeReader((filter, ms) => (filter.laterThanMs = { ...filter.laterThanMs, [time]: ms })),
    ],
  ]),
]);

function timeReader(put: (filter: ExecutionFilter, ms: number) => void): Reader {
  return (filter, text) => {
    if (!/^-?\d{1,20}(\.\d{0,20})?(e[+-]?\d{1,2})?$/i.test(text)) return 'seconds since the epoch';
    put(filter, milliseconds(Number(text)));
  };
}

/** Far beyond all times, and still a safe integer. */
const LAST_MS = 8.64e15;

/** Rounded to microseconds: a time that Berth gave out comes back as exactly the same millisecond. */
const milliseconds = (seconds: number): number =>
  Math.max(-LAST_MS, Math.min(LAST_MS, Math.round(seconds * 1e6) / 1e3));

const unknownFilter = (name: string) =>
  `There is no filter ${name.slice(0, 40)}; the filters are ${[...READERS.keys()].join(', ')}.`;
