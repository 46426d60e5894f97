/** Filters of the list of executions as the earlier platform reads them (H166). */
import type { Actor } from '../../core/accounts/account.ts';
import { type ExecutionFilter, isOwner } from '../../core/views/execution-filter.ts';
import { executionFilter } from '../json/execution-filter-query.ts';
import type { Words } from '../words.ts';

/**
 * What a user who may not operate others' executions gets for the `user_id` of another: the own list, or an
 * empty one.
 */
export type OthersList = 'own' | 'none';

/** The user that an unknown `user_id` names. Ids of users begin at 1. */
export const NOBODY = { id: 0 };

/** Half a microsecond, the unit of filters: a strict condition that lies so far beyond a time includes it. */
const INCLUSIVE_MS = 0.0005;

export function readFilter(
  parameters: URLSearchParams,
  words: Words,
  actor: Actor,
  others: OthersList,
): ExecutionFilter {
  // Refused before its filters are read.
  if (actor.kind === 'anonymous') return {};
  const limits = parameters.getAll('limit');
  // All executions.
  if (limits.length === 1 && /^(-\d{1,15}|0{1,15})$/.test(limits[0] ?? '')) parameters.delete('limit');
  const { owner, ...given } = executionFilter(parameters, words);
  const filter: ExecutionFilter = {
    ...given,
    earlierThanMs: moved(given.earlierThanMs, INCLUSIVE_MS),
    laterThanMs: moved(given.laterThanMs, -INCLUSIVE_MS),
  };
  if (owner === undefined) return filter;
  if (actor.role.canOperateOthers || isOwner(owner, actor.user)) return { ...filter, owner };
  return others === 'own' ? filter : { ...filter, limit: 0 };
}

const moved = (times: ExecutionFilter['earlierThanMs'] = {}, byMs: number) =>
  Object.fromEntries(Object.entries(times).map(([time, ms]) => [time, ms + byMs]));
