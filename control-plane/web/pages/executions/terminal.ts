/** The terminal of a service: a shell in its container. */
import { Hono } from 'hono';
import type { ServiceView } from '../../../core/views/execution-views.ts';
import { isOwnVisit } from '../../../http/cross-site.ts';
import { type Html, html } from '../../components/html.ts';
import { page } from '../../components/page.ts';
import { empty, live } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { readServicePage, serviceCrumbs } from './service-page.ts';

export function terminalPage(deps: WebDeps): Hono<WebEnv> {
  return new Hono<WebEnv>().get('/:id/services/:service/terminal', (c) => showTerminal(c, deps));
}

export const terminalPath = ({ executionId, id }: Pick<ServiceView, 'executionId' | 'id'>): string =>
  `/executions/${executionId}/services/${id}/terminal`;

async function showTerminal(c: WebContext, deps: WebDeps): Promise<Response> {
  const servicePage = await readServicePage(c, deps);
  const { executionId, executionName, service, problem, isRefresh } = servicePage;
  return page(c, {
    title: `Terminal of ${service.name} of ${executionName} #${executionId}`,
    ...(problem === undefined && { scripts: ['terminal'], styles: ['terminal'] }),
    body: html`
${serviceCrumbs(servicePage)}
<h1>Terminal of ${service.name}</h1>
${isRefresh || problem !== undefined ? live('terminal', [`execution:${executionId}`], noTerminal(service, problem)) : terminal(service, isOwnVisit(c))}`,
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
<p class="hint scripted">Ctrl-M leaves the terminal, so that Tab goes on in the page. Ctrl-Shift-C copies what is selected, and Ctrl-Shift-V pastes. Leaving the page ends the shell and what it has started; a lost connection does not, for two minutes.</p>`;
