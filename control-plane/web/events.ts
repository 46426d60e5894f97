/** The event stream of pages: the events of the API (GET events), by session only and in every variant. */
import { Hono } from 'hono';
import { EVENT_HEADERS, eventText } from '../http/api/events.ts';
import { authoriseEvents, openEvents } from '../operations/cluster/events.ts';
import type { WebDeps, WebEnv } from './context.ts';

export function eventPages(deps: WebDeps): Hono<WebEnv> {
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
