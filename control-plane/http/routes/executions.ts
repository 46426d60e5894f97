/** Routes of executions: parse, call the operation, render. */
import { Hono } from 'hono';
import type { ExecutionView } from '../../core/views/execution-views.ts';
import type { Context } from '../../operations/context.ts';
import {
  deleteExecution,
  explainApplication,
  explainExecution,
  getExecution,
  listEndpoints,
  listExecutions,
  submitExecution,
  terminateExecution,
} from '../../operations/executions/executions.ts';
import { draftSteps, submissionSteps } from '../../operations/executions/submission-input.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { executionFilter } from '../json/execution-filter-query.ts';
import { explanationJson } from '../json/explanation-json.ts';
import { empty, json, jsonText } from '../json/render.ts';
import { type Env, pathId } from '../request.ts';
import type { Variant } from '../variants/variant.ts';

export function executionRoutes(context: Context & { bodies: BodyReader }, variant: Variant): Hono<Env> {
  const routes = new Hono<Env>();
  const { bodies } = context;
  routes.post('/', async (c) => {
    const input = () => bodies.jsonInSteps(c, submissionSteps);
    const execution_id = await submitExecution(context, c.get('actor'), input, variant);
    return json({ execution_id }, variant.created);
  });
  routes.get('/', async (c) => {
    // An anonymous request is refused before its filters are read.
    const actor = c.get('actor');
    const filter =
      actor.kind === 'anonymous' ? {} : executionFilter(new URL(c.req.url).searchParams, variant);
    const pages = listExecutions(context, actor, filter);
    return new Response(await objectOf(pages, variant), { headers: jsonText('').headers });
  });
  if (variant.endpoints !== 'off') {
    routes.get('/endpoints/:id', async (c) => {
      const endpoints = await listEndpoints(context, c.get('actor'), pathId(c, 'id'));
      return json(variant.endpointsJson(endpoints));
    });
  }
  routes.delete('/delete/:id', async (c) => {
    await deleteExecution(context, c.get('actor'), pathId(c, 'id'));
    return empty(variant.removed);
  });
  if (variant.explains) {
    routes.post('/explain', async (c) => {
      const input = () => bodies.jsonInSteps(c, draftSteps);
      return json(explanationJson(await explainApplication(context, c.get('actor'), input), variant));
    });
    routes.get('/:id/explain', async (c) => {
      const explanation = await explainExecution(context, c.get('actor'), pathId(c, 'id'));
      return json(explanationJson(explanation, variant));
    });
  }
  routes.get('/:id', async (c) => {
    return jsonText(variant.executionText(await getExecution(context, c.get('actor'), pathId(c, 'id'))));
  });
  routes.delete('/:id', async (c) => {
    await terminateExecution(context, c.get('actor'), pathId(c, 'id'));
    return empty(variant.removed);
  });
  return routes;
}

/**
 * Streams the object that maps each id to its execution, page by page, so that a long list is never in memory
 * as a whole.
 */
async function objectOf(
  pages: AsyncGenerator<ExecutionView[]>,
  variant: Variant,
): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  // The first page is read before the answer begins, so that a failed read is an error and not a truncated
  // success.
  const texts = objectTexts(await pages.next(), pages, variant);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await texts.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
}

/** Never yields an empty text: a stream that enqueued nothing when pulled is not pulled again. */
async function* objectTexts(
  first: IteratorResult<ExecutionView[]>,
  pages: AsyncGenerator<ExecutionView[]>,
  variant: Variant,
): AsyncGenerator<string> {
  let before = '{';
  for (let page = first; !page.done; page = await pages.next()) {
    if (page.value.length === 0) continue;
    yield before + page.value.map((one) => `"${one.id}":${variant.executionText(one)}`).join(',');
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}
