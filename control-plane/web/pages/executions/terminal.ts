/** The terminal of a service: a shell in its container. */
import { Hono } from 'hono';
import { OperationError } from '../../../core/model/errors.ts';
import type { ServiceView } from '../../../core/views/execution-views.ts';
import { isOwnVisit } from '../../../http/cross-site.ts';
import { pathId } from '../../../http/request.ts';
import { getExecution } from '../../../operations/executions/reads.ts';
import { getService } from '../../../operations/executions/services.ts';
import { whyNoStream } from '../../../operations/executions/streams.ts';
import { type Html, html } from '../../components/html.ts';
import { page } from '../../components/page.ts';
import { crumbs, empty, live } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';

export function terminalPage(deps: WebDeps): Hono<WebEnv> {
  return new Hono<WebEnv>().get('/:id/services/:service/terminal', (c) => showTerminal(c, deps));
}

export const terminalPath = ({ executionId, id }: Pick<ServiceView, 'executionId' | 'id'>): string =>
  `/executions/${executionId}/services/${id}/terminal`;

async function showTerminal(c: WebContext, deps: WebDeps): Promise<Response> {
  const [actor, id] = [c.get('actor'), pathId(c, 'id')];
  const execution = await getExecution(deps, actor, id);
  const service = await getService(deps, actor, pathId(c, 'service'));
  if (service.executionId !== id) throw new OperationError('not-found', 'There is no such service.');
  const problem = whyNoStream(actor, service);
  const isRefresh = c.req.header('berth-refresh') !== undefined;
  return page(c, {
    title: `Terminal of ${service.name} of ${execution.name}`,
    ...(problem === undefined && { scripts: ['terminal'], styles: ['terminal'] }),
    body: html`
${crumbs([
  ['/executions', 'Executions'],
  [`/executions/${id}`, execution.name],
])}
<h1>Terminal of ${service.name}</h1>
${isRefresh || problem !== undefined ? live('terminal', [`execution:${id}`], noTerminal(service, problem)) : terminal(service, isOwnVisit(c))}`,
  });
}

/** What a page shows that was opened too early. It is fetched again after each change of the execution. */
const noTerminal = (service: ServiceView, problem: string | undefined): Html =>
  problem === undefined
    ? empty(
        'The service runs',
        html`<p><a class="button" href="${terminalPath(service)}">Open a terminal</a></p>`,
      )
    : empty(
        'No terminal',
        html`<p>${problem}</p><p><a href="/executions/${service.executionId}/logs?service=${service.id}">Log of ${service.name}</a></p>`,
      );

/** `starts`: the script opens a shell at once. A page that another site has opened waits for its user. */
const terminal = (service: ServiceView, starts: boolean): Html => html`
<noscript>
<p class="notice waits">A terminal requires JavaScript. Without it, use the command line:
<code>berth exec -it ${service.executionId}/${service.name} -- sh</code></p>
</noscript>
<section id="shell" class="shell scripted" aria-label="Terminal" data-path="/native/api/0.7/service/${service.id}/exec"${starts ? html` data-start` : ''}>
<div class="shell-bar">
<output id="shell-state">Connecting.</output>
<button id="shell-connect" disabled>Connect again</button>
<label class="check"><input type="checkbox" id="shell-reader" autocomplete="off"> Read output aloud</label>
</div>
<div id="shell-place" class="shell-place"></div>
</section>
<p class="hint scripted">Ctrl-M leaves the terminal, so that Tab goes on in the page. Ctrl-Shift-C copies what is selected, and Ctrl-Shift-V pastes. Leaving the page ends the shell and what it has started.</p>`;
