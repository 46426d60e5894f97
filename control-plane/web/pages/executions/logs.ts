/** The log pages of an execution: the viewer, its stream, and the output as written. */
import { Hono } from 'hono';
import { LOG_START } from '../../../../shared/streams/log-frames.ts';
import { OperationError } from '../../../core/model/errors.ts';
import { isEnded } from '../../../core/model/execution.ts';
import type { ExecutionView, ServiceView } from '../../../core/views/execution-views.ts';
import { executionLogs, MAX_SERVICES, STREAM_HEADERS } from '../../../http/api/execution-logs.ts';
import { pathId } from '../../../http/request.ts';
import { openExecutionLogs } from '../../../operations/executions/execution-logs.ts';
import { getExecution, getServices } from '../../../operations/executions/reads.ts';
import {
  getService,
  listExecutionServices,
  openServiceLog,
} from '../../../operations/executions/services.ts';
import { type Html, html } from '../../components/html.ts';
import { page } from '../../components/page.ts';
import { crumbs, empty } from '../../components/pieces.ts';
import { serviceChoice } from '../../components/service-choice.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { joinedLogs } from './joined-logs.ts';

export function logPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/:id/logs', (c) => logPage(c, deps));
  routes.get('/:id/logs/stream', (c) =>
    executionLogs(deps, {
      actor: c.get('actor'),
      executionId: pathId(c, 'id'),
      from: c.req.query('from'),
      format: 'timestamps',
      isHead: c.req.method === 'HEAD',
    }),
  );
  routes.get('/:id/logs/text', (c) => wholeText(c, deps));
  routes.get('/:id/logs/:service/text', (c) => logText(c, deps));
  return routes;
}

async function logText(c: WebContext, deps: WebDeps): Promise<Response> {
  const actor = c.get('actor');
  const service = await getService(deps, actor, pathId(c, 'service'));
  if (service.executionId !== pathId(c, 'id'))
    throw new OperationError('not-found', 'There is no such service.');
  const name = `execution-${service.executionId}-${fileName(service.name)}.log`;
  const part = c.req.query('follow') === 'false' ? { follow: false } : {};
  const log = c.req.method === 'HEAD' ? null : await openServiceLog(deps, actor, service.id, 'raw', part);
  return textResponse(c, log, name);
}

/** The output of all services until now. To follow several at once takes the page, or `berth logs`. */
async function wholeText(c: WebContext, deps: WebDeps): Promise<Response> {
  const [actor, id] = [c.get('actor'), pathId(c, 'id')];
  const services = await getServices(deps, actor, id);
  const positions = new Map(services.map((service) => [service.id, LOG_START]));
  const opens = await openExecutionLogs(deps, actor, id, positions, 'raw', { follow: false });
  const logs = services.flatMap(({ id, name }) => {
    const open = opens.get(id);
    return open ? [{ name, open }] : [];
  });
  return textResponse(c, c.req.method === 'HEAD' ? null : joinedLogs(logs), `execution-${id}.log`);
}

const textResponse = (c: WebContext, text: ReadableStream<Uint8Array> | null, name: string): Response =>
  new Response(text, {
    headers: {
      ...STREAM_HEADERS,
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition':
        c.req.query('download') === undefined ? 'inline' : `attachment; filename="${name}"`,
      // No browser may execute the output, whatever type it detects.
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
    },
  });

/** Headers and some file systems accept no other characters. */
const fileName = (name: string): string => name.replace(/[^a-zA-Z0-9._-]/g, '_');

async function logPage(c: WebContext, deps: WebDeps): Promise<Response> {
  const [actor, id] = [c.get('actor'), pathId(c, 'id')];
  const execution = await getExecution(deps, actor, id);
  const all = await listExecutionServices(deps, actor, id);
  const wanted = c.req.query('service') ?? '';
  const one = all.find((service) => String(service.id) === wanted);
  if (wanted !== '' && !one) throw new OperationError('not-found', 'There is no such service.');
  const shown = one ? [one] : all.slice(0, MAX_SERVICES);
  return page(c, {
    title: `Log of ${one ? `${one.name} of ` : ''}${execution.name} #${id}`,
    scripts: ['logs'],
    body: html`
${crumbs([
  ['/executions', 'Executions'],
  [`/executions/${id}`, execution.name],
])}
<div class="bar">
<h1>Log of ${execution.name} <span class="quiet">#${id}</span></h1>
${serviceChoice({ services: all, chosen: wanted, isFollowed: true })}
${files(execution, shown, all.length > 1 && !one)}
</div>
${all.length === 0 ? empty('No services', html`<p>This execution has no services, and no output.</p>`) : viewer(id, shown)}`,
  });
}

/** Before the execution has ended, a file has what was written until now, unless the user wants to wait. */
const files = (execution: ExecutionView, shown: readonly ServiceView[], isOfAll: boolean): Html => html`
<details class="menu">
<summary class="button">Download</summary>
<ul>
${isOfAll ? html`<li><a href="/executions/${execution.id}/logs/text?download">All services in one file${isEnded(execution) ? '' : ', until now'}</a></li>` : ''}
${shown.map((service) => (isEnded(execution) ? endedFile(service) : openFile(service)))}
<li class="quiet">${isEnded(execution) ? 'The complete output.' : 'The complete output until now. A download until the end continues until the service ends.'}</li>
</ul>
</details>`;

const textPath = ({ executionId, id }: ServiceView): string => `/executions/${executionId}/logs/${id}/text`;

const endedFile = (service: ServiceView): Html => html`
<li><a href="${textPath(service)}?download">${service.name}</a> <a class="quiet" href="${textPath(service)}">view as text</a></li>`;

const openFile = (service: ServiceView): Html => html`
<li><a href="${textPath(service)}?download&amp;follow=false">${service.name} until now</a> <a class="quiet" href="${textPath(service)}?download" aria-label="${service.name} until the end">until the end</a> <a class="quiet" href="${textPath(service)}?follow=false">view as text</a></li>`;

const viewer = (id: number, shown: readonly ServiceView[]): Html => html`
<noscript>
<p class="notice waits">Following a log requires JavaScript. Without it you can read the plain text:
${shown.map((service) => html`<a href="/executions/${id}/logs/${service.id}/text">${service.name}</a> `)}</p>
</noscript>
<section id="log" class="log scripted" aria-label="Log" data-execution="${id}" data-services="${JSON.stringify(shown.map(({ id, name }) => ({ id, name })))}">
<div class="log-bar">
<button id="log-pause">Pause</button>
<button id="log-end">Jump to end</button>
<label class="check"><input type="checkbox" id="log-times" checked autocomplete="off"> Timestamps</label>
<label class="check"><input type="checkbox" id="log-wrap" autocomplete="off"> Wrap lines</label>
<div class="log-find" role="search">
<label class="unseen" for="log-search">Search in the log</label>
<input type="search" id="log-search" placeholder="Search (press /)" maxlength="1000" autocomplete="off" spellcheck="false" aria-describedby="log-found">
<label class="check"><input type="checkbox" id="log-expression" autocomplete="off"> <abbr title="Regular expression">.*</abbr></label>
<button id="log-previous" aria-label="Previous match" disabled>↑</button>
<button id="log-next" aria-label="Next match" disabled>↓</button>
<output id="log-found" for="log-search"></output>
</div>
</div>
<p id="log-gap" class="log-gap" hidden></p>
<div id="log-scroller" class="log-scroller" tabindex="0" role="region" aria-label="Output of ${shown.length === 1 ? shown[0]?.name : 'all services'}"></div>
<p class="log-foot"><span id="log-state" role="status">Waiting for output.</span> <span id="log-count" class="quiet push"></span></p>
</section>`;
