/** Owns the list of executions. */
import { Hono } from 'hono';
import { listExecutions } from '../../operations/executions.ts';
import type { WebDeps, WebEnv } from '../context.ts';
import { html } from '../html.ts';
import { page } from '../page.ts';
import { ago, badge, empty, live } from '../parts.ts';

export function executionPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    const all = [];
    for await (const some of listExecutions(deps, c.get('actor'), { limit: 50 })) all.push(...some);
    const rows = all.reverse().map(
      (one) => html`
<tr><th scope="row"><a href="/executions/${one.id}">${one.name}</a></th><td>${badge(one.status)}</td><td>${one.userName}</td><td>${ago(one.timeSubmitMs, c.get('nowMs'))}</td></tr>`,
    );
    const table = html`
<div class="scroll"><table>
<thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col">Owner</th><th scope="col">Submitted</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>`;
    const none = empty(
      'Nothing has been started yet',
      html`<p>Take something from the <a href="/shop">app shop</a>, or <a href="/start">start a description of your own</a>.</p>`,
    );
    return page(c, {
      title: 'Executions',
      body: html`<h1>Executions</h1>${live('list', ['execution'], rows.length > 0 ? table : none)}`,
    });
  });
  return routes;
}
