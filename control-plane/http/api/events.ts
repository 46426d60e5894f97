/** Route of events, and their text as server-sent events in the words of the variant. */
import * as z from 'zod';
import type { EventFrame } from '../../core/streams/events.ts';
import { authoriseEvents, openEvents } from '../../operations/cluster/events.ts';
import { eventQuery } from '../json/request-schemas.ts';
import { checked, queryOf } from '../request.ts';
import { textStream } from '../text-stream.ts';
import type { Words } from '../words.ts';
import type { Route } from './route.ts';

/** The delay before a client reconnects, with jitter so that clients do not reconnect together. */
const RETRY_MS = { min: 500, jitter: 2_000 };

export const EVENT_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Compression would delay events until its buffer is full.
  'content-encoding': 'identity',
  // Proxies would buffer a stream with little output.
  'x-accel-buffering': 'no',
};

export const eventRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/events',
    tag: 'Events',
    id: 'followEvents',
    summary:
      'Receive changes as server-sent events: of executions and services you may read, and of hosts if your role allows',
    description:
      'A client that reconnects with the id of the last event misses none, or gets the event reset.',
    access: 'user',
    query: eventQuery,
    headers: z
      .strictObject({ 'Last-Event-ID': z.string().describe('The id of the last event that was read') })
      .partial(),
    answer: 'events',
    errors: [],
    async handle(c, deps) {
      const actor = c.get('actor');
      if (c.req.method === 'HEAD') {
        authoriseEvents(actor);
        return new Response(null, { headers: EVENT_HEADERS });
      }
      const frames = await openEvents(deps, actor, () => {
        const { last_event_id } = checked(eventQuery, queryOf(c), 'query');
        // The header wins: a browser that reconnects has read on since the page set the parameter.
        return c.req.header('last-event-id') || last_event_id || null;
      });
      return new Response(eventText(frames, deps.variant), { headers: EVENT_HEADERS });
    },
  },
];

/** Converts lines of EventFrame to server-sent events. */
export const eventText = (
  frames: ReadableStream<Uint8Array>,
  words: Pick<Words, 'statusOf' | 'userIdOf'>,
): ReadableStream<Uint8Array> => textStream(frames, (reader) => textsOf(reader, words));

async function* textsOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  words: Pick<Words, 'statusOf' | 'userIdOf'>,
): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS.min + Math.floor(Math.random() * RETRY_MS.jitter)}\n\n`;
  const decoder = new TextDecoder();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + decoder.decode(part.value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines.map((line) => frameText(JSON.parse(line), words)).join('');
  }
}

function frameText({ id, event }: EventFrame, words: Pick<Words, 'statusOf' | 'userIdOf'>): string {
  // Without data it is not an event, but clients store its id.
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
      const statusWord = status === 'deleted' ? status : words.statusOf(status);
      return { id, name, user_id: words.userIdOf(event), status: statusWord };
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
