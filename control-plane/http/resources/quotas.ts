/** Schemas of quotas in requests, and the operations behind their routes. */
import * as z from 'zod';
import type { Quota } from '../../core/accounts/account.ts';
import type { NameFilter, NewQuota, QuotaChanges } from '../../core/accounts/account-input.ts';
import { MAX_TIME_LIMIT_S } from '../../core/model/time-limit.ts';
import {
  createQuota,
  deleteQuota,
  getQuota,
  listQuotas,
  updateQuota,
} from '../../operations/accounts/quotas.ts';
import { cores, count, name, nameFilter } from '../json/account-fields.ts';
import { quotaJson } from '../json/account-json.ts';
import type { Resource } from './resource.ts';

export const quotaFields = z.strictObject({
  name,
  concurrent_executions: count,
  memory: count,
  cores: count,
});

const timeLimit = z.int().min(0).max(MAX_TIME_LIMIT_S);

const ownFields = quotaFields.extend({
  cores,
  time_limit: timeLimit.optional(),
  max_time_limit: timeLimit.optional(),
});

type Fields = z.output<typeof ownFields>;

/** In the names of the core. A new quota without time limits has none. */
const newQuotaOf = ({ concurrent_executions, memory, time_limit, max_time_limit, ...rest }: Fields) => ({
  ...rest,
  concurrentExecutions: concurrent_executions,
  memoryBytes: memory,
  timeLimitS: time_limit,
  maxTimeLimitS: max_time_limit,
});

const quotaChangesOf: (changes: { [Name in keyof Fields]?: Fields[Name] | undefined }) => QuotaChanges = ({
  concurrent_executions,
  memory,
  time_limit,
  max_time_limit,
  ...rest
}) => ({
  ...rest,
  concurrentExecutions: concurrent_executions,
  memoryBytes: memory,
  timeLimitS: time_limit,
  maxTimeLimitS: max_time_limit,
});

export const quotas: Resource<Quota, NewQuota, QuotaChanges, NameFilter> = {
  kind: 'quota',
  // Every field is required: an absent one could only mean "no cap", which must not happen by mistake.
  body: quotaFields.transform(newQuotaOf),
  changes: quotaFields.partial().transform(quotaChangesOf),
  filter: nameFilter,
  render: quotaJson,
  create: createQuota,
  get: (context, actor, id) => getQuota(context, actor, id),
  list: listQuotas,
  update: (context, actor, id, input) => updateQuota(context, actor, id, input),
  remove: (context, actor, id) => deleteQuota(context, actor, id),
};

/** The same with time limits and parts of cores, which only Berth's own path has (H481). */
export const ownQuotas = {
  body: ownFields.transform(newQuotaOf),
  changes: ownFields.partial().transform(quotaChangesOf),
};
