/** Routes of executions: parse, call the operation, render. */
import { Hono } from 'hono';
import { executionSeenAt, runningSinceMs } from '../../core/views/early-end.ts';
import type { Context } from '../../operations/context.ts';
import {
  changeTimeLimit,
  deleteExecution,
  explainApplication,
  explainExecution,
  listEndpoints,
  listExecutions,
  submitExecution,
  terminateExecution,
} from '../../operations/executions/executions.ts';
import { KnownDescriptions, MAX_KNOWN_LENGTH } from '../../operations/executions/known-descriptions.ts';
import { getExecution } from '../../operations/executions/reads.ts';
import {
  draftSteps,
  longNamedSchema,
  submissionSchema,
  submissionSteps,
  timeLimitSchema,
} from '../../operations/executions/submission-input.ts';
import { type ListedExecution, withWaitingReasons } from '../../operations/executions/waiting.ts';
import { LONG_READ, type ReadTurns } from '../../operations/read-turns.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { keyOf, madeJson } from '../idempotency.ts';
import { executionFilter } from '../json/execution-filter-query.ts';
import { explanationJson } from '../json/explanation-json.ts';
import { empty, json, jsonText } from '../json/render.ts';
import { checked, type Env, pathId } from '../request.ts';
import type { Variant } from '../variants/variant.ts';
import { executionLogs } from './execution-logs.ts';

export function executionRoutes(context: Context & { bodies: BodyReader }, variant: Variant): Hono<Env> {
  const routes = new Hono<Env>();
  const { bodies } = context;
  const known = new KnownDescriptions();
  const seen = (nowMs: number) => (execution: ListedExecution) =>
    variant.hidesEarlyEnds ? executionSeenAt(execution, nowMs) : execution;
  const schema = variant.longNames ? longNamedSchema : submissionSchema;
  routes.post('/', async (c) => {
    const input = () =>
      bodies.jsonInSteps(c, (body, bytes) =>
        submissionSteps(body, bytes <= MAX_KNOWN_LENGTH ? known : undefined, schema, variant.readDescription),
      );
    const made = await submitExecution(context, c.get('caller'), input, variant, keyOf(c));
    return madeJson('execution_id', made, variant.created);
  });
  routes.get('/', async (c) => {
    // An anonymous request is refused before its filters are read.
    const actor = c.get('actor');
    const filter =
      actor.kind === 'anonymous' ? {} : executionFilter(new URL(c.req.url).searchParams, variant);
    // One time for the whole list, so that each execution has the status by which it was found.
    const nowMs = context.nowMs();
    if (variant.hidesEarlyEnds) filter.runningSinceMs = runningSinceMs(nowMs);
    const { user, pages } = listExecutions(context, actor, filter, variant.lenientFilters);
    const listed = variant.listsReasons ? withWaitingReasons(context, pages) : pages;
    const texts = objectTexts(listed, (one) => variant.executionText(seen(nowMs)(one)));
    return new Response(await streamInTurns(texts, context.turns, user.id, context.nowMs), {
      headers: jsonText('').headers,
    });
  });
  if (variant.endpoints !== 'off') {
    routes.get('/endpoints/:id', async (c) => {
      const endpoints = await listEndpoints(context, c.get('actor'), pathId(c, 'id'));
      return json(variant.endpointsJson(endpoints));
    });
  }
  routes.delete('/delete/:id', async (c) => {
    await deleteExecution(context, c.get('caller'), pathId(c, 'id'), variant.strictEnds);
    return empty(variant.removed);
  });
  if (variant.explains) {
    routes.post('/explain', async (c) => {
      const input = () => bodies.jsonInSteps(c, (body) => draftSteps(body));
      return json(explanationJson(await explainApplication(context, c.get('actor'), input), variant));
    });
    routes.get('/:id/explain', async (c) => {
      const explanation = await explainExecution(context, c.get('actor'), pathId(c, 'id'));
      return json(explanationJson(explanation, variant));
    });
  }
  if (variant.framedLogs) {
    routes.get('/:id/logs', (c) =>
      executionLogs(context, {
        ...{ actor: c.get('actor'), executionId: pathId(c, 'id'), from: c.req.query('from') },
        format: c.req.query('timestamps') === 'true' ? 'timestamps' : 'raw',
        ...{ follow: c.req.query('follow'), tail: c.req.query('tail') },
        isHead: c.req.method === 'HEAD',
      }),
    );
  }
  routes.get('/:id', async (c) => {
    const execution = await getExecution(context, c.get('actor'), pathId(c, 'id'));
    return jsonText(variant.executionText(seen(context.nowMs())(execution)));
  });
  if (variant.changesTimeLimit) {
    routes.post('/:id', async (c) => {
      const input = async () => checked(timeLimitSchema, await bodies.json(c), 'body').time_limit;
      await changeTimeLimit(context, c.get('actor'), pathId(c, 'id'), input);
      return empty(variant.created);
    });
  }
  routes.delete('/:id', async (c) => {
    await terminateExecution(context, c.get('caller'), pathId(c, 'id'), variant.strictEnds);
    return empty(variant.removed);
  });
  return routes;
}

/** Streams the texts, each made in a turn of the user when it is read. */
async function streamInTurns(
  texts: AsyncGenerator<string>,
  turns: ReadTurns,
  userId: number,
  nowMs: () => number,
): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  const next = () => texts.next();
  const lengthOf = ({ value }: IteratorResult<string>) => value?.length ?? 0;
  // The first page is read before the answer begins, so that a failed read is an error and not a truncated
  // success.
  let first: IteratorResult<string> | undefined = await turns.run(userId, next, lengthOf);
  const list = { userId, readMs: nowMs(), abandon: () => {} };
  const end = () => {
    turns.end(list);
    return texts.return(undefined);
  };
  if (lengthOf(first) > LONG_READ) turns.begin(list);
  return new ReadableStream(
    {
      start(controller) {
        list.abandon = () => controller.error(new Error('the client has not read for a minute'));
      },
      async pull(controller) {
        list.readMs = nowMs();
        try {
          const { done, value } = first ?? (await turns.goOn(userId, next, lengthOf));
          first = undefined;
          if (!done) return controller.enqueue(encoder.encode(value));
          await end();
          controller.close();
        } catch (error) {
          await end();
          throw error;
        }
      },
      cancel: async () => void (await end()),
    },
    // Nothing is made before it is read: a client that stops reading holds no page.
    { highWaterMark: 0 },
  );
}

/**
 * The object that maps each id to its execution, page by page, so that a long list is never in memory as a
 * whole. Never yields an empty text: a stream that enqueued nothing when pulled is not pulled again.
 */
async function* objectTexts(
  pages: AsyncGenerator<ListedExecution[]>,
  executionText: (execution: ListedExecution) => string,
): AsyncGenerator<string> {
  const textOf = (page: readonly ListedExecution[]) =>
    page.map((one) => `"${one.id}":${executionText(one)}`).join(',');
  let before = '{';
  for (;;) {
    // Not in a variable of its own, which would keep the page while the text is being sent.
    const text = await pages.next().then((page) => (page.done ? undefined : textOf(page.value)));
    if (text === undefined) break;
    if (text === '') continue;
    yield before + text;
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}
