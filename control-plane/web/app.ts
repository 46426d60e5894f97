/**
 * Web interface: maps paths to pages and decides who may open them. The server renders every page, and all
 * pages work without script; the scripts in browser/ update them live. All files come from this origin.
 * Identical on Node and on workerd.
 */
import { Hono } from 'hono';
import { EVENT_HEADERS, eventText } from '../http/api/events.ts';
import { authoriseEvents, openEvents } from '../operations/cluster/events.ts';
import { assetRoutes } from './assets.ts';
import { gzipped } from './compression.ts';
import type { WebDeps, WebEnv } from './context.ts';
import { errorPage } from './error-page.ts';
import { accountPages } from './pages/account.ts';
import { adminPages } from './pages/admin/admin.ts';
import { appOpeningPages } from './pages/app-opening.ts';
import { clusterPages } from './pages/cluster/cluster.ts';
import { executionPages } from './pages/executions/executions.ts';
import { filesPage } from './pages/executions/files.ts';
import { logPages } from './pages/executions/logs.ts';
import { terminalPage } from './pages/executions/terminal.ts';
import { usagePages } from './pages/executions/usage.ts';
import { GUIDE_PATH, guidePages } from './pages/guide.ts';
import { loginPages } from './pages/login.ts';
import { shopPages } from './pages/shop/shop.ts';
import { startPages } from './pages/start/start.ts';
import { signedIn, withContext } from './session.ts';

/** Sections behind a login, by the beginning of their path. */
const sections: Readonly<Record<string, (deps: WebDeps) => Hono<WebEnv>>> = {
  '/events': eventPages,
  '/executions': (deps) =>
    executionPages(deps)
      .route('/', logPages(deps))
      .route('/', usagePages(deps))
      .route('/', terminalPage(deps))
      .route('/', filesPage(deps)),
  '/shop': shopPages,
  '/start': startPages,
  '/cluster': clusterPages,
  '/admin': adminPages,
  '/account': accountPages,
  [GUIDE_PATH]: guidePages,
};

export function webRoutes(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  const prepared = () => {
    const section = new Hono<WebEnv>();
    section.use(withContext(deps));
    if (deps.gzip) section.use(gzipped(deps.gzip));
    return section;
  };
  routes.route('/assets', assetRoutes(deps.webFile, { hasZipped: deps.gzip !== undefined }));
  routes.get('/', (c) => c.redirect('/executions', 303));
  routes.route('/', loginPages(deps));
  const { apps } = deps;
  const ofApps: typeof sections = apps ? { '/apps': (deps) => appOpeningPages(deps, apps) } : {};
  for (const [path, pages] of Object.entries({ ...sections, ...ofApps })) {
    const section = prepared();
    section.onError((error, c) => errorPage(c, error, deps.failed));
    routes.route(path, section.use(signedIn(deps)).route('/', pages(deps)));
  }
  return routes;
}

export { errorPageWith, isBrowser, notFoundPage, wantsPage } from './error-page.ts';

/** The event stream of pages: the events of the API (GET events), by session only and in every variant. */
function eventPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    if (c.req.method === 'HEAD') {
      authoriseEvents(c.get('actor'));
      return new Response(null, { headers: EVENT_HEADERS });
    }
    const frames = await openEvents(
      deps,
      c.get('actor'),
      () => c.req.header('last-event-id') || c.req.query('last_event_id') || null,
    );
    return new Response(eventText(frames, WORDS), { headers: EVENT_HEADERS });
  });
  return routes;
}

/** Pages read only which object has changed, so the words do not depend on the variant. */
const WORDS: Parameters<typeof eventText>[1] = {
  statusOf: (status) => status,
  userIdOf: ({ userId }) => userId,
};
