/** Leads a logged-in browser on to a web application, with a ticket for its first visit there. */
import { Hono } from 'hono';
import * as z from 'zod';
import { idOfPlace } from '../../core/apps/app-place.ts';
import { checked } from '../../http/request.ts';
import { AppVisits } from '../../operations/apps/app-visits.ts';
import { noSuchApp, usableApp } from '../../operations/apps/apps.ts';
import { placeNamed } from '../../operations/apps/named-place.ts';
import type { AppSettings } from '../../operations/apps/settings.ts';
import { html } from '../components/html.ts';
import { page } from '../components/page.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';

/** `<port>-<service id>-<proof>`. */
const MAX_NAME_LENGTH = 44;

const link = z.object({
  app: z.string().max(MAX_NAME_LENGTH),
  /** SHA-256 in base64url. */
  visit: z.string().regex(/^[\w-]{43}$/, 'must be 43 characters of base64url'),
  next: z.string().max(2_000).regex(/^\//, 'must be a path').default('/'),
});

/** The pages behind a login. */
export function appOpeningPages(deps: WebDeps, apps: AppSettings): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  const visits = new AppVisits(deps);
  routes.get('/open', async (c) => {
    const { app, visit, next } = checked(link, c.req.query(), 'link');
    const place = await placeNamed(deps, apps, app);
    if (!place) throw noSuchApp();
    const actor = c.get('actor');
    const { service } = await usableApp(deps, actor, place.name);
    const ticket = await visits.grant(actor, { place: idOfPlace(place), visit, next });
    const { origin, prefix } = place;
    return leadOn(c, service.name, `${origin}${prefix}/.berth/enter?ticket=${ticket}`);
  });
  return routes;
}

/** After a login by a form, no redirect may lead to another site: the policy of pages forbids it. */
function leadOn(c: WebContext, name: string, url: string): Response | Promise<Response> {
  c.header('referrer-policy', 'no-referrer');
  if (c.req.header('sec-fetch-site') !== 'same-origin') return c.redirect(url, 303);
  return page(c, {
    title: name,
    headers: { refresh: `0; url=${url}` },
    body: html`
<div class="empty">
<h1>Opening ${name}</h1>
<p><a class="button primary" href="${url}">Open ${name}</a></p>
</div>`,
  });
}
