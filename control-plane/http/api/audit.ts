/** Route of the audit log, below Berth's own path only (H460). */
import * as z from 'zod';
import { listAudit } from '../../operations/audit.ts';
import { auditEntryJson, auditEntrySchema, auditFilter, auditFilterOf } from '../json/audit-schemas.ts';
import { json } from '../json/render.ts';
import { checked, queryOf } from '../request.ts';
import type { Route } from './route.ts';

export const auditRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/audit',
    tag: 'Audit log',
    isNative: true,
    id: 'listAuditEntries',
    summary: 'List the latest changes, logins and refusals by id, for administrators',
    description: 'Several filters must all match. For the page before, repeat the request with `before`.',
    access: 'user',
    query: auditFilter,
    answer: z.record(z.string(), auditEntrySchema),
    errors: [],
    async handle(c, deps) {
      const filter = async () => auditFilterOf(checked(auditFilter, queryOf(c), 'filter'));
      const rows = await listAudit(deps, c.get('actor'), filter);
      return json(Object.fromEntries(rows.map((row) => [row.id, auditEntryJson(row)])));
    },
  },
];
