/** Schemas of quotas in requests, and the operations behind their routes. */
import * as z from 'zod';
import type { Quota } from '../../core/accounts/account.ts';
import type { NameFilter, NewQuota, QuotaChanges } from '../../core/accounts/account-input.ts';
import {
  createQuota,
  deleteQuota,
  getQuota,
  listQuotas,
  updateQuota,
} from '../../operations/accounts/quotas.ts';
import { count, name, nameFilter } from '../json/account-fields.ts';
import { quotaJson } from '../json/account-json.ts';
import type { Resource } from './resource.ts';

export const quotaFields = z.strictObject({
  name,
  concurrent_executions: count,
  memory: count,
  cores: count,
});

export const quotas: Resource<Quota, NewQuota, QuotaChanges, NameFilter> = {
  kind: 'quota',
  // Every field is required: an absent one could only mean "no cap", which must not happen by mistake.
  body: quotaFields.transform(({ concurrent_executions, memory, ...rest }) => ({
    ...rest,
    concurrentExecutions: concurrent_executions,
    memoryBytes: memory,
  })),
  changes: quotaFields.partial().transform(({ concurrent_executions, memory, ...rest }) => ({
    ...rest,
    concurrentExecutions: concurrent_executions,
    memoryBytes: memory,
  })),
  filter: nameFilter,
  render: quotaJson,
  create: createQuota,
  get: getQuota,
  list: listQuotas,
  update: updateQuota,
  remove: deleteQuota,
};
