/** Operation on the audit log for the OpenAPI document: below Berth's own path only (H460). */
import * as z from 'zod';
import { auditEntrySchema, auditFilter } from '../json/audit-schemas.ts';
import type { Operation, Scheme } from './operation.ts';

export const auditOperation = (access: readonly Scheme[]): Operation => ({
  tag: 'Audit log',
  isNative: true,
  method: 'get',
  path: '/audit',
  id: 'listAuditEntries',
  summary: 'List the latest changes, logins and refusals by id, for administrators',
  description: 'Several filters must all match. For the page before, repeat the request with `before`.',
  access,
  query: auditFilter,
  answer: z.record(z.string(), auditEntrySchema),
  errors: [],
});
