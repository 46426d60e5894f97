/** The page of an execution: its state with the reason, and its actions. */
import { Hono } from 'hono';
import type { AppAddresses } from '../../../core/apps/app-address.ts';
import { OperationError } from '../../../core/model/errors.ts';
import { isEnded } from '../../../core/model/execution.ts';
import { type ExecutionView, type ServiceView, whyEnded } from '../../../core/views/execution-views.ts';
import type { Explanation } from '../../../core/views/explanation.ts';
import type { StartView } from '../../../core/views/service-starts.ts';
import { pathId } from '../../../http/request.ts';
import { appAddresses } from '../../../operations/app-addresses.ts';
import {
  deleteExecution,
  explainExecution,
  submitExecution,
  terminateExecution,
} from '../../../operations/executions/executions.ts';
import { getExecution } from '../../../operations/executions/reads.ts';
import { listExecutionServices, listExecutionStarts } from '../../../operations/executions/services.ts';
import { whyNoStream } from '../../../operations/executions/streams.ts';
import { submissionSteps } from '../../../operations/executions/submission-input.ts';
import { descriptionReview, isOfAnother } from '../../components/description-review.ts';
import { formOf } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { isOperationError, redirectAfter, redirectWith } from '../../components/notice.ts';
import { page, seesCluster } from '../../components/page.ts';
import { badge, crumbs, live } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { indentSteps } from '../../description/indented.ts';
import { aboutDescription } from './execution-description.ts';
import { endpoints, openingPage } from './execution-endpoints.ts';
import { ended, serviceTable, timeline, waiting } from './execution-parts.ts';
import { SHOWN_STARTS, startTable } from './execution-starts.ts';

export function executionPage(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/:id', (c) => showExecution(deps, c, pathId(c, 'id')));
  routes.get('/:id/open', async (c) => {
    const [actor, id] = [c.get('actor'), pathId(c, 'id')];
    const execution = await getExecution(deps, actor, id);
    const [services, apps] = await Promise.all([listExecutionServices(deps, actor, id), appAddresses(deps)]);
    return openingPage(c, { execution, services, apps, publicUrl: deps.publicUrl });
  });
  routes.get('/:id/description.json', async (c) =>
    descriptionFile(c, await getExecution(deps, c.get('actor'), pathId(c, 'id'))),
  );
  routes.post('/:id/terminate', async (c) => {
    const id = pathId(c, 'id');
    return redirectAfter(c, `/executions/${id}`, 'The execution is being terminated.', () =>
      terminateExecution(deps, c.get('actor'), id),
    );
  });
  routes.post('/:id/again', async (c) => runAgain(deps, c, pathId(c, 'id')));
  routes.post('/:id/delete', async (c) => {
    const id = pathId(c, 'id');
    if ((await formOf(c)).get('confirmed') !== 'yes')
      return confirmationPage(c, await getExecution(deps, c.get('actor'), id));
    await deleteExecution(deps, c.get('actor'), id);
    return redirectWith(c, '/executions', { kind: 'done', text: `Execution ${id} was deleted.` });
  });
  return routes;
}

async function showExecution(deps: WebDeps, c: WebContext, id: number): Promise<Response> {
  const actor = c.get('actor');
  const execution = await getExecution(deps, actor, id);
  const [services, starts, explanation, apps] = await Promise.all([
    listExecutionServices(deps, actor, id),
    listExecutionStarts(deps, actor, id, SHOWN_STARTS + 1),
    isEnded(execution) ? undefined : explained(deps, c, id),
    appAddresses(deps),
  ]);
  const { defaultMemoryBytes, publicUrl } = deps;
  const shown = { services, starts, explanation, apps, defaultMemoryBytes, publicUrl };
  return detailPage(c, execution, shown);
}

async function descriptionFile(c: WebContext, { id, description }: ExecutionView): Promise<Response> {
  const indented = await c.get('bodies').work(c, description.length, indentSteps(description));
  return new Response(`${indented}\n`, {
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="execution-${id}.json"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}

/**
 * Redirects to the new execution, or back with the reason for a refusal, for example by the quota. The
 * description of another user is shown first: it would run with the secrets and files of who runs it.
 */
async function runAgain(deps: WebDeps, c: WebContext, id: number): Promise<Response> {
  const execution = await getExecution(deps, c.get('actor'), id);
  const isConfirmed = !isOfAnother(c, execution) || (await formOf(c)).get('confirmed') === 'yes';
  if (!isConfirmed) return reviewPage(c, execution);
  const { name, description } = execution;
  const body = { name, application: JSON.parse(description) };
  const input = () => c.get('bodies').work(c, description.length, submissionSteps(body));
  try {
    const { id: next } = await submitExecution(deps, c.get('actor'), input, deps.refusals);
    return redirectWith(c, `/executions/${next}`, {
      kind: 'done',
      text: `Submitted again as execution ${next}.`,
    });
  } catch (error) {
    if (!isOperationError(error)) throw error;
    return redirectWith(c, `/executions/${id}`, { kind: 'failed', text: error.message });
  }
}

/** Undefined if no coordinator is available: the rest of the page is shown nevertheless. */
async function explained(deps: WebDeps, c: WebContext, id: number): Promise<Explanation | undefined> {
  try {
    return await explainExecution(deps, c.get('actor'), id);
  } catch (error) {
    if (error instanceof OperationError && error.code === 'unavailable') return undefined;
    throw error;
  }
}

interface Shown {
  services: readonly ServiceView[];
  starts: readonly StartView[];
  explanation: Explanation | undefined;
  apps: AppAddresses;
  defaultMemoryBytes: number | undefined;
  publicUrl: string | undefined;
}

function detailPage(
  c: WebContext,
  execution: ExecutionView,
  { services, starts, explanation, apps, defaultMemoryBytes, publicUrl }: Shown,
): Promise<Response> {
  const { id, name, status } = execution;
  const { user, role } = c.get('account');
  const nowMs = c.get('nowMs');
  const form = (action: string) =>
    html`<form id="${action}" method="post" action="/executions/${id}/${action}"></form>`;
  return page(c, {
    title: `${name} #${id}`,
    scripts: ['execution'],
    body: html`
${crumbs([['/executions', 'Executions']])}
${['terminate', 'again', 'delete'].map(form)}
${live(
  'execution',
  [`execution:${id}`],
  html`
<div class="bar">
<h1>${name} <span class="quiet">#${id}</span> ${badge(status)}</h1>
<div class="buttons">${buttons(c, execution)}</div>
</div>
${timeline(execution, nowMs)}
${isEnded(execution) ? end(execution, services, nowMs) : ''}
${explanation && !isEnded(execution) ? waiting(explanation) : ''}
${endpoints(c, { execution, services, apps, publicUrl })}
${serviceTable(id, services, {
  showAll: c.req.query('services') === 'all',
  linksHosts: seesCluster(role),
  whyNoStream: (service) => whyNoStream(c.get('actor'), service),
  nowMs,
})}
${startTable(starts, nowMs)}`,
)}
${c.req.header('berth-refresh') === undefined ? aboutDescription(execution, user.username, defaultMemoryBytes) : ''}`,
  });
}

function end(execution: ExecutionView, services: readonly ServiceView[], nowMs: number): Html {
  const { status, errorMessage } = execution;
  return html`
<p>${whyEnded(execution, services)}${ended(execution, nowMs)}</p>
${status === 'error' && errorMessage !== null ? html`<div class="notice failed lines" role="group" aria-label="Error">${errorMessage}</div>` : ''}`;
}

/** Their forms are outside of the part that is refreshed. */
function buttons(c: WebContext, execution: ExecutionView): Html {
  const { id, name, status } = execution;
  const { canDeleteExecutions } = c.get('account').role;
  return html`
${isEnded(execution) || status === 'cleaning up' ? '' : html`<button form="terminate" class="danger" data-confirm="Terminate ${name}? Its containers are stopped and removed.">Terminate</button>`}
<button form="again">Run again</button>
<a class="button" href="/start?from=${id}">Edit and run again</a>
${canDeleteExecutions ? html`<button form="delete" name="confirmed" value="" class="danger" data-confirm="Delete ${name} and its logs? If it is still running, it is terminated first.">Delete</button>` : ''}`;
}

function reviewPage(c: WebContext, execution: ExecutionView): Promise<Response> {
  const { id, name, userName } = execution;
  return page(c, {
    title: `Run ${name} of ${userName}`,
    body: html`
<form class="card" method="post" action="/executions/${id}/again">
<h1>Run what ${userName} has described as your own?</h1>
<p>You did not submit execution ${id}, ${name}. Run it only if you trust ${userName} with what it gets from you.</p>
${descriptionReview(execution)}
<button class="danger" name="confirmed" value="yes">Run as my own</button>
<a class="button" href="/executions/${id}">Cancel</a>
</form>`,
  });
}

/** Asks for confirmation without script. */
function confirmationPage(c: WebContext, { id, name, status }: ExecutionView): Promise<Response> {
  const running = isEnded({ status }) ? '' : ' It has not ended, so it is terminated first.';
  return page(c, {
    title: `Delete ${name}`,
    body: html`
<form class="card narrow" method="post" action="/executions/${id}/delete">
<h1>Delete ${name}?</h1>
<p>This permanently deletes execution ${id} and its logs.${running}</p>
<button class="danger" name="confirmed" value="yes">Delete</button>
<a class="button" href="/executions/${id}">Cancel</a>
</form>`,
  });
}
