/**
 * A run of bulk work on all executions that a filter finds: what it does, how far it has come, and what is
 * next. It travels in the fields of a form, so that it needs no state here and ends when nobody continues it.
 */
import * as z from 'zod';
import { type ExecutionStatus, executionStatuses } from '../../../core/model/execution.ts';
import { shortened } from '../../../core/model/text.ts';
import { MAX_COUNT } from '../../../core/views/execution-filter.ts';
import type { ExecutionPage } from '../../../operations/executions/executions.ts';
import { type ListQuery, readListQuery } from './execution-filter-form.ts';

export const deeds = ['terminate', 'delete'] as const;
export type Deed = (typeof deeds)[number];

/** Executions of one run. More are left for another one. */
export const MAX_RUN = MAX_COUNT;
const MAX_REASON_LENGTH = 200;

/** In the order in which an execution passes them, so that one that moves on during a run is still found. */
const live: readonly ExecutionStatus[] = ['submitted', 'queued', 'starting', 'running'];

export interface Run {
  deed: Deed;
  /** The filter, and the position in the list from which the run goes on. */
  query: ListQuery;
  /** When the user confirmed it: what is submitted later does not belong to it. */
  fromMs: number;
  /** Index of the state that is worked on, in `statesOf`. */
  stage: number;
  done: number;
  failed: number;
  /** How many matched at the beginning; 0: that is not known. */
  total: number;
  /** Why the first failed. */
  reason: string;
  isConfirmed: boolean;
}

const integer = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).catch(0);
const runSchema = z.object({
  deed: z.enum(deeds).catch('terminate'),
  from: integer.default(0),
  stage: integer.default(0),
  done: integer.default(0),
  failed: integer.default(0),
  total: integer.default(0),
  reason: z
    .string()
    .default('')
    .transform((text) => shortened(text, MAX_REASON_LENGTH)),
  confirmed: z.string().optional(),
});

export function readRun(fields: Record<string, string>): Run {
  const { from, confirmed, ...run } = runSchema.parse(fields);
  return { ...run, fromMs: from, query: readListQuery(fields), isConfirmed: confirmed === 'yes' };
}

/** The fields of a form from which `readRun` makes the same run. */
export const fieldsOf = ({ query, fromMs, isConfirmed: _, ...run }: Run): [name: string, value: string][] =>
  Object.entries({ ...query, ...run, from: fromMs }).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );

/** The states whose executions are worked on, one after the other; undefined: all at once. */
export function statesOf({
  deed,
  query: { state },
}: Pick<Run, 'deed' | 'query'>): (ExecutionStatus | undefined)[] {
  if (deed === 'delete') return [state];
  return live.filter((one) => state === undefined || one === state);
}

/** How many executions the run would find; undefined if that is not known. */
export function matchesOf(
  { counts }: Pick<ExecutionPage, 'counts'>,
  run: Pick<Run, 'deed' | 'query'>,
): number | undefined {
  if (!counts) return undefined;
  const states = statesOf(run).flatMap((state) => state ?? executionStatuses);
  return states.reduce((sum, state) => sum + (counts.get(state) ?? 0), 0);
}

/** What the next portion looks for; undefined if the run is over. */
export function nextQuery(run: Run): ListQuery | undefined {
  const states = statesOf(run);
  if (run.stage >= states.length || run.done + run.failed >= MAX_RUN) return undefined;
  return { ...run.query, state: states[run.stage], before: run.query.before ?? beginningOf(run) };
}

/** Before every execution that was submitted later. */
const beginningOf = ({ fromMs }: Run): string => `${fromMs}-${MAX_ID}`;
const MAX_ID = 999_999_999_999_999;

/** The run after the executions of a page were worked on; `size` is how many the page could have had. */
export function advanced(
  run: Run,
  { lines, searchEnd }: Pick<ExecutionPage, 'lines' | 'searchEnd'>,
  size: number,
): Run {
  const last = lines.length < size ? searchEnd : lines.at(-1);
  const { before: _, ...query } = run.query;
  if (!last) return { ...run, query, stage: run.stage + 1 };
  return { ...run, query: { ...query, before: `${last.timeSubmitMs}-${last.id}` } };
}
