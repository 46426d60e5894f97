/** Owns the stream of events that pages live on: the API's (GET events), by the session alone and in every variant. */
import { Hono } from 'hono';
import { EVENT_HEADERS, eventText } from '../http/routes/events.ts';
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

/** Pages read what has changed and not what it is called. */
const WORDS: Parameters<typeof eventText>[1] = {
  statusOf: (status) => status,
  userIdOf: ({ userId }) => userId,
};
