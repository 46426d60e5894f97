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

const CORES = 'Cores of all placed executions together; 0: no limit';

export const quotaFields = z.strictObject({
  name: name.describe('Name of the quota'),
  concurrent_executions: count.describe('Executions that may be placed at a time; 0: any number'),
  memory: count.describe('Bytes of all placed executions together; 0: no limit'),
  cores: count.describe(CORES),
});

const timeLimit = z.int().min(0).max(MAX_TIME_LIMIT_S);

const ownFields = quotaFields.extend({
  cores: cores.describe(CORES),
  time_limit: timeLimit
    .optional()
    .describe('How long an execution lasts by default, in seconds; 0: no limit'),
  max_time_limit: timeLimit
    .optional()
    .describe('The longest time limit of an execution, in seconds; 0: any or none'),
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

export type QuotaFieldsJson = z.input<typeof ownQuotas.body>;
export type QuotaChangesJson = z.input<typeof ownQuotas.changes>;
