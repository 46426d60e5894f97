/** Owns the route of events, and events as text: server-sent events, in the words of the variant. */
import { Hono } from 'hono';
import type { EventFrame } from '../../core/streams/events.ts';
import { authoriseEvents, openEvents } from '../../operations/cluster/events.ts';
import type { Context } from '../../operations/context.ts';
import { eventQuery } from '../json/request-schemas.ts';
import { checked, type Env, queryOf } from '../request.ts';
import { textStream } from '../text-stream.ts';
import type { Words } from '../words.ts';

/** How long a client waits before it comes back: not all of them at once. */
const RETRY_MS = { least: 500, spread: 2_000 };

export const EVENT_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // What is compressed on the way is held back until there is enough of it.
  'content-encoding': 'identity',
  // Proxies would hold back a stream that trickles.
  'x-accel-buffering': 'no',
};

export function eventRoutes(context: Context, words: Words): Hono<Env> {
  const routes = new Hono<Env>();
  routes.get('/', async (c) => {
    const actor = c.get('actor');
    if (c.req.method === 'HEAD') {
      authoriseEvents(actor);
      return new Response(null, { headers: EVENT_HEADERS });
    }
    const frames = await openEvents(context, actor, () => {
      const { last_event_id } = checked(eventQuery, queryOf(c), 'query');
      // A browser that comes back has read on since it was given the address.
      return c.req.header('last-event-id') || last_event_id || null;
    });
    return new Response(eventText(frames, words), { headers: EVENT_HEADERS });
  });
  return routes;
}

/** Lines of EventFrame as server-sent events. */
export const eventText = (
  frames: ReadableStream<Uint8Array>,
  words: Pick<Words, 'statusOf' | 'userIdOf'>,
): ReadableStream<Uint8Array> => textStream(frames, (reader) => textsOf(reader, words));

async function* textsOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  words: Pick<Words, 'statusOf' | 'userIdOf'>,
): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS.least + Math.floor(Math.random() * RETRY_MS.spread)}\n\n`;
  const decoder = new TextDecoder();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + decoder.decode(part.value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines.map((line) => frameText(JSON.parse(line), words)).join('');
  }
}

function frameText({ id, event }: EventFrame, words: Pick<Words, 'statusOf' | 'userIdOf'>): string {
  // Without data it is no event, but clients keep its id.
  if (event.kind === 'beat') return `:\nid: ${id}\n\n`;
  return `event: ${event.kind}\nid: ${id}\ndata: ${JSON.stringify(eventJson(event, words))}\n\n`;
}

interface EventJsons {
  execution: { id: number; name: string; user_id: number | string; status: string };
  service: {
    id: number;
    execution_id: number;
    name: string;
    status: string;
    backend_status: string;
    progress?: string;
  };
  host: { id: number; name: string; state: string };
  hello: Record<never, never>;
}
type EventJson = EventJsons[keyof EventJsons];

function eventJson(
  event: Exclude<EventFrame['event'], { kind: 'beat' }>,
  words: Pick<Words, 'statusOf' | 'userIdOf'>,
): EventJson {
  switch (event.kind) {
    case 'execution': {
      const { id, name, status } = event;
      const word = status === 'deleted' ? status : words.statusOf(status);
      return { id, name, user_id: words.userIdOf(event), status: word };
    }
    case 'service': {
      const { id, executionId, name, status, backendStatus, progress } = event;
      const json = { id, execution_id: executionId, name, status, backend_status: backendStatus };
      return progress === '' ? json : { ...json, progress };
    }
    case 'host': {
      const { id, name, state } = event;
      return { id, name, state };
    }
    default:
      return {};
  }
}
