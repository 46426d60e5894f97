/** Route of the audit log: parse, call the operation, render. */
import { Hono } from 'hono';
import { listAudit } from '../../operations/audit.ts';
import type { Context } from '../../operations/context.ts';
import { auditEntryJson, auditFilter, auditFilterOf } from '../json/audit-schemas.ts';
import { json } from '../json/render.ts';
import { checked, type Env, queryOf } from '../request.ts';

export function auditRoutes(context: Context): Hono<Env> {
  const routes = new Hono<Env>();
  routes.get('/', async (c) => {
    const filter = async () => auditFilterOf(checked(auditFilter, queryOf(c), 'filter'));
    const rows = await listAudit(context, c.get('actor'), filter);
    return json(Object.fromEntries(rows.map((row) => [row.id, auditEntryJson(row)])));
  });
  return routes;
}
