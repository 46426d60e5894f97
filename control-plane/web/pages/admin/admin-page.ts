/** The frame of the administration pages. */

import { html } from '../../components/html.ts';
import { type Page, page } from '../../components/page.ts';
import { tabs } from '../../components/pieces.ts';
import type { WebContext } from '../../context.ts';

const TABS = [
  ['/admin/users', 'Users'],
  ['/admin/roles', 'Roles'],
  ['/admin/quotas', 'Quotas'],
  ['/admin/audit', 'Audit log'],
] as const;

export const adminPage = (c: WebContext, { body, ...rest }: Page): Promise<Response> =>
  page(c, { ...rest, body: html`${tabs('Administration', TABS, c.req.path)}${body}` });
