/** The page of an execution: its state with the reason, its actions, timeline, services and their starts. */
import { Hono } from 'hono';
import type { AppAddresses } from '../../../core/apps/app-address.ts';
import { OperationError } from '../../../core/model/errors.ts';
import { type ExecutionStatus, isEnded } from '../../../core/model/execution.ts';
import {
  type ExecutionView,
  healthOf,
  isEssential,
  type ServiceHealth,
  type ServiceView,
  whyEnded,
} from '../../../core/views/execution-views.ts';
import type { Explanation } from '../../../core/views/explanation.ts';
import { exitText, type StartView } from '../../../core/views/service-starts.ts';
import { demandText } from '../../../core/views/start-demand.ts';
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
import { duration } from '../../components/duration.ts';
import { formOf } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { isOperationError, redirectAfter, redirectWith } from '../../components/notice.ts';
import { page, seesCluster } from '../../components/page.ts';
import { ago, badge, crumbs, elapsed, live, timeOf, until } from '../../components/pieces.ts';
import { kindMark, TERMS, termHeading, termList } from '../../components/terms.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { indentSteps } from '../../description/indented.ts';
import { aboutDescription } from './execution-description.ts';
import { endpoints, openingPage } from './execution-endpoints.ts';
import { filesPath } from './files.ts';
import { terminalPath } from './terminal.ts';

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
    const { id: next } = await submitExecution(deps, c.get('actor'), input, deps.overQuota);
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

interface Step {
  name: string;
  /** When the state began, if that is recorded. */
  sinceMs: number | null;
  untilMs: number | null;
}

/** The states that an execution has passed through, with their recorded times. */
function stepsOf(execution: ExecutionView): Step[] {
  const { status, timeSubmitMs, timePlaceMs, timeStartMs, timeStopMs, timeEndMs } = execution;
  const stepped: [name: ExecutionStatus, sinceMs: number | null][] = [
    ['queued', timeSubmitMs],
    ['starting', timePlaceMs],
    ['running', timeStartMs],
    ['cleaning up', timeStopMs],
  ];
  // An execution that ended in the queue never cleaned up.
  const passed = stepped.filter(
    ([name, sinceMs]) => name === status || (sinceMs !== null && sinceMs !== timeEndMs),
  );
  return passed.map(([name, sinceMs], at) => ({
    name,
    sinceMs,
    untilMs: passed[at + 1]?.[1] ?? timeEndMs,
  }));
}

function timeline(execution: ExecutionView, nowMs: number): Html {
  const { status, timeSubmitMs, timeEndMs } = execution;
  const steps = stepsOf(execution).map(
    (step) => html`
<li${step.name === status ? html` aria-current="step"` : ''}>
<strong>${step.name}</strong>
<span>${lengthOf(step, nowMs)}</span>
</li>`,
  );
  return html`
<ol class="steps" aria-label="States">
<li><strong>submitted</strong><span>${timeOf(timeSubmitMs)}</span></li>
${steps}
${isEnded(execution) ? html`<li aria-current="step" data-state="${status}"><strong>${status}</strong><span>${timeEndMs === null ? '' : timeOf(timeEndMs)}</span></li>` : ''}
</ol>`;
}

/** How long the state lasted or has lasted. */
function lengthOf({ sinceMs, untilMs }: Step, nowMs: number): Html | string {
  if (sinceMs === null) return '';
  if (untilMs === null) return html`for ${elapsed(sinceMs, nowMs)}`;
  // The clock may have been set between the two.
  const lastedMs = Math.max(0, untilMs - sinceMs);
  return `for ${lastedMs < 10_000 ? `${(lastedMs / 1_000).toFixed(1)} s` : duration(lastedMs)}`;
}

/** The state of a live execution, what it waits for, and what would change that. */
function waiting({
  status,
  summary,
  waitingFor,
  placement,
  demand,
  backfillReservedFor,
}: Explanation): Html | '' {
  if (status === 'running' && waitingFor.length === 0) return '';
  const title = status === 'queued' ? 'Why it is waiting' : 'What is happening';
  const places = placement?.map(
    ({ host, instances }) => html`<li>${instances.join(', ')} on host ${host}</li>`,
  );
  return html`
<section class="notice waits" aria-labelledby="waiting-title">
<h2 id="waiting-title">${title}</h2>
<p>${summary}${status === 'queued' && waitingFor.length === 0 ? ' Nothing else is holding it back.' : ''}</p>
${demand ? html`<p>${demandText(demand)}</p>` : ''}
${waitingFor.length > 0 ? html`<ul>${waitingFor.map((sentence) => html`<li>${sentence}</li>`)}</ul>` : ''}
${backfillReservedFor === null ? '' : html`<p>Capacity is reserved for <a href="/executions/${backfillReservedFor}">execution ${backfillReservedFor}</a>.</p>`}
${places && places.length > 0 ? html`<p>Planned placement:</p><ul>${places}</ul>` : ''}
</section>`;
}

/** Rows shown at first. */
const MAX_SERVICES = 100;

interface ServiceTable {
  /** All rows, however many. */
  showAll: boolean;
  /** Whether the role of the user may see the pages of hosts. */
  linksHosts: boolean;
  /** Why a service has no terminal and no files now; undefined if it has. */
  whyNoStream(service: ServiceView): string | undefined;
  nowMs: number;
}

function serviceTable(
  id: number,
  services: readonly ServiceView[],
  { showAll, ...options }: ServiceTable,
): Html {
  const { length } = services;
  const shown = showAll ? services : services.slice(0, MAX_SERVICES);
  return html`
<section aria-labelledby="services-title">
<div class="bar"><h2 id="services-title">Services</h2>
<a class="button push" href="/executions/${id}/usage">Usage</a>
<a class="button" href="/executions/${id}/logs">All logs</a></div>
<div class="scroll"><table>
<thead><tr><th scope="col">Name</th><th scope="col">Log</th><th scope="col">Terminal</th><th scope="col">Files</th>${termHeading('State')}${termHeading('Container')}
<th scope="col">Host</th>${termHeading('Starts', 'number')}</tr></thead>
<tbody>${shown.map((service) => serviceRow(service, options))}</tbody>
</table></div>
${shown.length < length ? html`<p class="below"><a href="/executions/${id}?services=all">Show all ${length} services</a></p>` : ''}
${termList('essential', 'elastic', 'monitor', 'State', 'Container', 'Starts')}
</section>`;
}

function serviceRow(
  service: ServiceView,
  { linksHosts, whyNoStream, nowMs }: Omit<ServiceTable, 'showAll'>,
): Html {
  const { id, executionId, name, status, backendStatus, starts } = service;
  return html`
<tr id="service-${id}">
<th scope="row">${name} ${kindMark(isEssential(service))}
${service.description.monitor ? html` <span class="mark" title="${TERMS.monitor}">monitor</span>` : ''}${service.hasEndedExecution ? endedMark : ''}
${detailOf(service)}${restartOf(service, nowMs)}</th>
<td><a href="/executions/${executionId}/logs?service=${id}" aria-label="Log of ${name}">Log</a></td>
${streamCells(service, whyNoStream(service))}
<td>${badge(status)}${healthMark(service)}</td>
<td>${backendStatus === 'undefined' ? html`<span class="quiet">none</span>` : badge(backendStatus)}</td>
<td>${hostOf(service, linksHosts)}</td>
<td class="number">${starts}</td>
</tr>`;
}

/** Links to the terminal and the files; nothing once the execution has ended. */
function streamCells(service: ServiceView, problem: string | undefined): Html {
  if (isEnded(service.execution)) return html`<td></td><td></td>`;
  if (problem !== undefined)
    return html`<td><span class="quiet" title="${problem}">none<span class="unseen">: ${problem}</span></span></td><td></td>`;
  const { name } = service;
  return html`<td><a href="${terminalPath(service)}" aria-label="Terminal of ${name}">Terminal</a></td>
<td><a href="${filesPath(service)}" aria-label="Files of ${name}">Files</a></td>`;
}

/** Words beside the state of a service whose health is checked. */
const HEALTH_MARKS: Record<ServiceHealth, string> = {
  starting: 'not yet healthy',
  healthy: 'healthy',
  unhealthy: 'unhealthy',
};

function healthMark(service: ServiceView): Html | '' {
  const health = healthOf(service);
  return health === null
    ? ''
    : html` <span class="mark" title="${TERMS.health}">${HEALTH_MARKS[health]}</span>`;
}

function hostOf({ hostId, hostName }: ServiceView, linksHosts: boolean): Html | string {
  if (hostName === null) return html`<span class="quiet">none</span>`;
  return linksHosts && hostId !== null ? html`<a href="/cluster/hosts/${hostId}">${hostName}</a>` : hostName;
}

/** The error, the progress of a start, or the exit code. */
function detailOf({ errorMessage, progress, exit }: ServiceView): Html | '' {
  if (errorMessage !== null) return html`<div class="why">${errorMessage}</div>`;
  if (progress) return html`<div class="why busy">${progress}</div>`;
  if (exit && exit.code !== null) return html`<div class="why quiet">exit code ${exit.code}</div>`;
  return '';
}

function restartOf({ restartAtMs }: ServiceView, nowMs: number): Html | '' {
  if (restartAtMs === null || restartAtMs <= nowMs) return '';
  return html`<div class="why busy">restarting ${until(restartAtMs, nowMs)}</div>`;
}

/** When the execution ended and how long it ran, on one line. */
function ended({ timeStartMs, timeStopMs, timeEndMs }: ExecutionView, nowMs: number): Html {
  const ran =
    timeStartMs === null || timeEndMs === null
      ? ''
      : ` It ran for ${duration((timeStopMs ?? timeEndMs) - timeStartMs)}.`;
  return html`${ran} It ended ${ago(timeEndMs, nowMs)}.`;
}

/** Rows on the page. */
const SHOWN_STARTS = 50;

/**
 * The last starts of an execution's services. `starts`: the latest first, at most SHOWN_STARTS and one more.
 */
function startTable(starts: readonly StartView[], nowMs: number): Html | '' {
  if (starts.length === 0) return '';
  const isCut = starts.length > SHOWN_STARTS;
  return html`
<section aria-labelledby="starts-title">
<h2 id="starts-title">Starts</h2>
<div class="scroll"><table>
<thead><tr><th scope="col">Service</th><th scope="col" class="number">Start</th><th scope="col">Host</th>
<th scope="col">Started</th><th scope="col">Ran for</th><th scope="col">Ended</th><th scope="col">How</th></tr></thead>
<tbody>${starts.slice(0, SHOWN_STARTS).map((start) => startRow(start, nowMs))}</tbody>
</table></div>
${isCut ? html`<p class="below">These are the last ${SHOWN_STARTS}. <code>berth get ID/SERVICE</code> shows the last 20 of each service.</p>` : ''}
</section>`;
}

function startRow(start: StartView, nowMs: number): Html {
  const { serviceId, service, generation, host, startMs, runMs, endMs, hasEndedExecution } = start;
  return html`
<tr>
<th scope="row"><a href="#service-${serviceId}">${service}</a></th>
<td class="number">${generation}</td>
<td>${host}</td>
<td>${timeOf(startMs)}</td>
<td>${runMs === null ? html`<span class="quiet">did not run</span>` : endMs === null ? elapsed(runMs, nowMs) : duration(endMs - runMs)}</td>
<td>${endMs === null ? '' : timeOf(endMs)}</td>
<td>${exitText(start)}${hasEndedExecution ? endedMark : ''}</td>
</tr>`;
}

/** Marks the service, and the start, whose end has decided that of the execution. */
const endedMark: Html = html` <span class="mark strong">ended the execution</span>`;
