/** The administration section: users, roles, quotas and the audit log, for roles that may change them. */
import { Hono } from 'hono';
import { authorise } from '../../../core/accounts/account.ts';
import type { WebDeps, WebEnv } from '../../context.ts';
import { auditPage } from './audit.ts';
import { quotaPages } from './quotas.ts';
import { rolePages } from './roles.ts';
import { userPages } from './users.ts';

export function adminPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  // Guards the forms as well; each operation authorises itself.
  routes.use(async (c, next) => {
    authorise(c.get('actor'), { kind: 'configure' });
    await next();
  });
  routes.get('/', (c) => c.redirect('/admin/users', 303));
  routes.route('/users', userPages(deps));
  routes.route('/roles', rolePages(deps));
  routes.route('/quotas', quotaPages(deps));
  routes.get('/audit', (c) => auditPage(deps, c));
  return routes;
}
