/** Owns the page that asks before a host is removed, and says what becomes of what it runs. */
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
      // As it is now, which is not what the page showed that was asked.
      return redirectWith(c, `/cluster/hosts/${id}/remove`, { kind: 'failed', text: 'It was not removed.' });
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
${question(host)}
</div>`,
  });

/** What C94 asks for, in words; an empty host goes whatever its state. */
function question({ id, services, connected, lost, schedulable }: HostDetail): Html {
  const left = services.length === 1 ? '1 service' : `${services.length} services`;
  if (services.length > 0 && connected && !lost)
    return html`
<p>It has ${left} and is connected, so it can't be removed yet: nothing may run twice. ${schedulable ? 'Drain it by force, and remove it when it is empty; or stop its agent.' : 'It is drained: remove it when it is empty, or stop its agent.'}</p>
<form class="bar" method="post" action="/cluster/hosts/${id}/drain">
${schedulable ? html`<input type="hidden" name="force" value="on"><button>Drain it by force</button>` : ''}
<a class="button" href="/cluster/hosts/${id}">Back to the host</a>
</form>`;
  const away = services.length > 0 && !lost;
  return html`
<p>Its agent stops what it runs, drops its key, and can't come back without a new join token. Logs that are on it are gone.</p>
${services.length > 0 ? html`<p>It has ${left}: executions with essential ones there go back to the queue and start elsewhere.</p>` : ''}
<form method="post" action="/cluster/hosts/${id}/remove">
${away ? checkbox('force', 'Its containers do not run any more', false, 'It is away, but not for long enough to count as lost. If they still run, they run twice.', html` required`) : ''}
<div class="bar"><button class="danger">Remove the host</button><a class="button" href="/cluster/hosts/${id}">Keep it</a></div>
</form>`;
}
