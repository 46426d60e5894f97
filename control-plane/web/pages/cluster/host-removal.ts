/** The page that asks before a host is removed, and states what happens to its services. */
import { Hono } from 'hono';
import type { HostDetail } from '../../../core/views/host-view.ts';
import { hostRemovalJson } from '../../../http/json/host-schemas.ts';
import { pathId } from '../../../http/request.ts';
import { getHost, removeHost } from '../../../operations/cluster/hosts.ts';
import { formOf } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { isOperationError, redirectWith } from '../../components/notice.ts';
import { page } from '../../components/page.ts';
import { badge, checkbox, crumbs } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';

export function hostRemovalPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/:id/remove', async (c) =>
    removalPage(c, await getHost(deps, c.get('actor'), pathId(c, 'id'))),
  );
  routes.post('/:id/remove', async (c) => {
    const id = pathId(c, 'id');
    const force = (await formOf(c)).has('force');
    try {
      const removal = await removeHost(deps, c.get('actor'), id, async () => ({ force }));
      const { message, requeued } = hostRemovalJson(removal, deps.deploymentName);
      const back = requeued.length === 0 ? '' : ` Back in the queue: ${requeued.join(', ')}.`;
      return redirectWith(c, '/cluster', { kind: 'done', text: message + back });
    } catch (error) {
      if (!isOperationError(error)) throw error;
      // Shows the page again as the host is now, which may differ from what the user confirmed.
      return redirectWith(c, `/cluster/hosts/${id}/remove`, {
        kind: 'failed',
        text: 'The host was not removed.',
      });
    }
  });
  return routes;
}

const removalPage = (c: WebContext, host: HostDetail): Promise<Response> =>
  page(c, {
    title: `Remove ${host.name}`,
    body: html`
${crumbs([
  ['/cluster', 'Cluster'],
  [`/cluster/hosts/${host.id}`, host.name],
])}
<div class="card">
<h1>Remove ${host.name}? ${badge(host.state)}</h1>
${removalForm(host)}
</div>`,
  });

/** Asks what C94 requires; an empty host may be removed in any state. */
function removalForm({ id, services, connected, lost, schedulable }: HostDetail): Html {
  const left = services.length === 1 ? '1 service' : `${services.length} services`;
  if (services.length > 0 && connected && !lost)
    return html`
<p>This host has ${left} and is connected. It can't be removed yet, because its services could then run twice. ${schedulable ? 'Drain it by force and remove it once it is empty, or stop its agent.' : 'It is drained: remove it once it is empty, or stop its agent.'}</p>
<form class="bar" method="post" action="/cluster/hosts/${id}/drain">
${schedulable ? html`<input type="hidden" name="force" value="on"><button>Drain by force</button>` : ''}
<a class="button" href="/cluster/hosts/${id}">Back to host</a>
</form>`;
  const away = services.length > 0 && !lost;
  return html`
<p>The agent stops its containers and deletes its key. It can join again only with a new join token. Logs on this host can no longer be read.</p>
${services.length > 0 ? html`<p>This host has ${left}. Executions with essential services here go back to the queue and start again on other hosts.</p>` : ''}
<form method="post" action="/cluster/hosts/${id}/remove">
${away ? checkbox('force', 'Its containers have stopped', false, 'The host is not connected, but not for long enough to count as lost. If its containers still run, they will run twice.', html` required`) : ''}
<div class="bar"><button class="danger">Remove host</button><a class="button" href="/cluster/hosts/${id}">Cancel</a></div>
</form>`;
}
