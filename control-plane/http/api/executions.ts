/** Routes of executions. */
import * as z from 'zod';
import { applicationSchema } from '../../../shared/application-schema.ts';
import type { User } from '../../core/accounts/account.ts';
import { endpointPairs } from '../../core/views/execution-views.ts';
import { LONG_READ, type ReadTurns } from '../../guard/read-turns.ts';
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
import { type KnownDescriptions, MAX_KNOWN_LENGTH } from '../../operations/executions/known-descriptions.ts';
import { getExecution } from '../../operations/executions/reads.ts';
import {
  draftSchema,
  draftSteps,
  submissionSchema,
  submissionSteps,
  timeLimitSchema,
} from '../../operations/executions/submission-input.ts';
import { type ListedExecution, withWaitingReasons } from '../../operations/executions/waiting.ts';
import { keyOf, madeJson } from '../idempotency.ts';
import { executionFilter, executionFilters } from '../json/execution-filter-query.ts';
import { explanationJson } from '../json/explanation-json.ts';
import { empty, json, jsonText } from '../json/render.ts';
import { executionSchema, explanationSchema, groupSchemas, idOf } from '../json/schemas.ts';
import { endpointsSchema } from '../json/service-schemas.ts';
import { checked, pathId } from '../request.ts';
import type { Variant } from '../variant.ts';
import { executionLogsRoute } from './execution-logs.ts';
import type { ApiDeps, Route } from './route.ts';

const common = { tag: 'Executions', access: 'work' } as const;

export const executionRoutes = (variant: Variant): Route[] => {
  const { documentedAs = 'B', overQuota } = variant;
  const execution = executionSchema(variant, groupSchemas[documentedAs].userId);
  const explanation = explanationSchema(variant);
  return [
    {
      ...common,
      access: 'change',
      method: 'post',
      path: '/execution',
      id: 'submitExecution',
      summary: 'Submit an application',
      description:
        'The execution waits in the queue until all its essential services fit on hosts. Without an Idempotency-Key, a repeated request submits another execution.',
      body: submissionSchema.extend({
        application: applicationSchema.describe('The application description'),
      }),
      isMadeOnce: true,
      answer: z.strictObject({ execution_id: idOf('execution') }),
      errors: [],
      async handle(c, deps) {
        const input = () =>
          deps.bodies.jsonInSteps(c, (body, bytes) => submissionSteps(body, knownIn(deps, bytes)));
        const made = await submitExecution(deps, c.get('caller'), input, overQuota, keyOf(c));
        return madeJson('execution_id', made, variant.created);
      },
    },
    {
      ...common,
      method: 'get',
      path: '/execution',
      id: 'listExecutions',
      summary: 'List executions by id: your own, or those of all users for an administrator',
      description:
        'Several filters must all match. The answer is streamed page by page, so that it may be of any length.',
      query: executionFilters(variant),
      answer: z.record(z.string(), execution),
      errors: [],
      handle(c, deps) {
        const actor = c.get('actor');
        // An anonymous request is refused before its filters are read.
        const filter =
          actor.kind === 'anonymous' ? {} : executionFilter(new URL(c.req.url).searchParams, variant);
        const { user, pages } = listExecutions(deps, actor, filter);
        const listed = variant.isNative ? withWaitingReasons(deps, pages) : pages;
        return listAnswer(deps, user, listed, deps.nowMs());
      },
    },
    {
      ...common,
      method: 'get',
      path: '/execution/:id',
      id: 'getExecution',
      summary: 'Read an execution',
      description: 'The execution is your own, or any one if your role may operate those of others.',
      answer: execution,
      errors: [404],
      async handle(c, deps) {
        const found = await getExecution(deps, c.get('actor'), pathId(c, 'id'));
        return jsonText(variant.executionText(found, deps.nowMs()));
      },
    },
    {
      ...common,
      access: 'change',
      method: 'delete',
      path: '/execution/:id',
      id: 'terminateExecution',
      summary: 'Terminate an execution',
      description:
        'Its services are stopped, and its output and description are kept. The answer does not wait until the containers are gone.',
      answer: 'empty',
      errors: [404, 409],
      async handle(c, deps) {
        await terminateExecution(deps, c.get('caller'), pathId(c, 'id'));
        return empty(variant.removed);
      },
    },
    {
      ...common,
      access: 'change',
      method: 'delete',
      path: '/execution/delete/:id',
      id: 'deleteExecution',
      summary: 'Delete an execution; one that has not ended is terminated first',
      description:
        'Its output and description are removed, and cannot be recovered. Some roles may not delete.',
      answer: 'empty',
      errors: [404],
      async handle(c, deps) {
        await deleteExecution(deps, c.get('caller'), pathId(c, 'id'));
        return empty(variant.removed);
      },
    },
    {
      ...common,
      method: 'get',
      path: '/execution/:id/explain',
      id: 'explainExecution',
      summary: 'Explain why an execution is queued, and what would change that',
      description:
        'The explanation follows the decision of the scheduler: the position in the queue, what hosts lack, and limits of the quota.',
      answer: explanation,
      errors: [404],
      async handle(c, deps) {
        const found = await explainExecution(deps, c.get('actor'), pathId(c, 'id'));
        return json(explanationJson(found, variant));
      },
    },
    {
      ...common,
      method: 'post',
      path: '/execution/explain',
      id: 'explainApplication',
      summary: 'Explain what would happen to an application if it were submitted now',
      description:
        'The application is checked and placed as a submission would be, but nothing is submitted.',
      body: draftSchema.extend({ application: applicationSchema.describe('The application description') }),
      answer: explanation,
      errors: [],
      async handle(c, deps) {
        const input = () => deps.bodies.jsonInSteps(c, (body) => draftSteps(body));
        return json(explanationJson(await explainApplication(deps, c.get('actor'), input), variant));
      },
    },
    {
      ...common,
      isNative: true,
      method: 'post',
      path: '/execution/:id',
      id: 'changeTimeLimit',
      summary: 'Change the time limit of an execution',
      description:
        'The limit counts from the placement of the execution, and null removes it. Whoever may terminate the execution may change it.',
      body: timeLimitSchema,
      answer: 'empty',
      errors: [404, 409],
      async handle(c, deps) {
        const input = async () => checked(timeLimitSchema, await deps.bodies.json(c), 'body').time_limit;
        await changeTimeLimit(deps, c.get('actor'), pathId(c, 'id'), input);
        return empty(variant.created);
      },
    },
    executionLogsRoute,
    {
      ...common,
      method: 'get',
      path: '/execution/endpoints/:id',
      id: 'listEndpoints',
      summary: 'List the names and URLs of the ports that an execution exposes now',
      description: 'A port has a URL while its service runs. The pair is the name of the port and its URL.',
      answer: endpointsSchema,
      errors: [404],
      handle: async (c, deps) =>
        json(endpointPairs(await listEndpoints(deps, c.get('actor'), pathId(c, 'id')))),
    },
  ];
};

/** Where a description in a body of so many bytes is looked up and remembered, if anywhere. */
export const knownIn = ({ known }: ApiDeps, bytes: number): KnownDescriptions | undefined =>
  bytes <= MAX_KNOWN_LENGTH ? known : undefined;

/** The executions of a list by their ids, for the user, all as of one time. */
export async function listAnswer(
  deps: ApiDeps,
  { id }: User,
  pages: AsyncGenerator<ListedExecution[]>,
  nowMs: number,
): Promise<Response> {
  const texts = objectTexts(pages, (one) => deps.variant.executionText(one, nowMs));
  const stream = await streamInTurns(texts, deps.turns, id, deps.nowMs);
  return new Response(stream, { headers: jsonText('').headers });
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
  const count = (page: IteratorResult<string>) => {
    if (lengthOf(page) > LONG_READ) turns.begin(list);
  };
  count(first);
  return new ReadableStream(
    {
      start(controller) {
        list.abandon = () => controller.error(new Error('the client has not read for a minute'));
      },
      async pull(controller) {
        list.readMs = nowMs();
        try {
          const page = first ?? (await turns.goOn(userId, next, lengthOf));
          first = undefined;
          count(page);
          const { done, value } = page;
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
