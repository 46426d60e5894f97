/** Converts between the URL of the list of executions, its filters and its position. */
import * as z from 'zod';
import { type ExecutionStatus, executionStatuses } from '../../../core/model/execution.ts';
import type { ExecutionFilter, Position } from '../../../core/views/execution-filter.ts';

const HOUR_MS = 3_600_000;

/** Time filters, by their word in the URL. */
export const spans: Readonly<Record<string, { text: string; ms: number }>> = {
  '1h': { text: 'in the last hour', ms: HOUR_MS },
  '1d': { text: 'in the last 24 hours', ms: 24 * HOUR_MS },
  '7d': { text: 'in the last 7 days', ms: 7 * 24 * HOUR_MS },
  '30d': { text: 'in the last 30 days', ms: 30 * 24 * HOUR_MS },
};

const text = z.string().trim().max(130).catch('');
const querySchema = z.object({
  state: z.enum(executionStatuses).optional().catch(undefined),
  name: text.default(''),
  owner: text.default(''),
  within: z
    .string()
    .refine((span) => Object.hasOwn(spans, span))
    .or(z.literal(''))
    .default('')
    .catch(''),
  before: z
    .string()
    .regex(/^\d{1,15}-\d{1,15}$/)
    .optional()
    .catch(undefined),
});

/** The filters of a URL. Unknown or unreadable fields are ignored. */
export type ListQuery = z.infer<typeof querySchema>;

export const readListQuery = (query: Record<string, string>): ListQuery => querySchema.parse(query);

export function filterOf({ state, name, owner, within, before }: ListQuery, nowMs: number): ExecutionFilter {
  const span = spans[within];
  const whole = /^"(.*)"$/s.exec(name)?.[1];
  const position = before?.split('-').map(Number);
  return {
    ...(state && { status: state }),
    ...(whole === undefined ? name !== '' && { nameContains: name } : { name: whole }),
    ...(owner !== '' && { owner: { username: owner } }),
    ...(span && { laterThanMs: { submit: nowMs - span.ms } }),
    ...(position && { olderThan: { timeSubmitMs: position[0] ?? 0, id: position[1] ?? 0 } }),
  };
}

/** True if the list is filtered by more than its state and position. */
export const isNarrowed = ({ name, owner, within }: ListQuery): boolean =>
  name !== '' || owner !== '' || within !== '';

/** Path of the list with another state, or from another position on. */
export function listPath(
  query: ListQuery,
  { state, after }: { state: ExecutionStatus | undefined; after?: Position | undefined },
): string {
  const { name, owner, within } = query;
  const before = after && `${after.timeSubmitMs}-${after.id}`;
  const given = Object.entries({ state, name, owner, within, before }).filter(([, value]) => value);
  const search = new URLSearchParams(given as [string, string][]).toString();
  return search === '' ? '/executions' : `/executions?${search}`;
}
