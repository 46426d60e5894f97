/** Owns the frame of the pages of administration. */
import type { WebContext } from '../../context.ts';
import { html } from '../../html.ts';
import { type Page, page } from '../../page.ts';
import { tabs } from '../../parts.ts';

const TABS = [
  ['/admin/users', 'Users'],
  ['/admin/roles', 'Roles'],
  ['/admin/quotas', 'Quotas'],
] as const;

export const adminPage = (c: WebContext, { body, ...rest }: Page): Promise<Response> =>
  page(c, { ...rest, body: html`${tabs('Administration', TABS, c.req.path)}${body}` });
