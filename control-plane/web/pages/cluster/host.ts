/**
 * The page of a host: its facts, services and last hour, what it offers, and the forms that drain, label and
 * remove it.
 */

import { Hono } from 'hono';
import * as z from 'zod';
import type { HostOffer } from '../../../core/model/host.ts';
import { coresText, memoryText } from '../../../core/model/text.ts';
import type { HostSample } from '../../../core/views/host-history.ts';
import type { HostView } from '../../../core/views/host-view.ts';
import { hostLabels, hostOffer } from '../../../http/json/request-schemas.ts';
import { checked, pathId } from '../../../http/request.ts';
import { type SeenHost, type SeenService, viewHost } from '../../../operations/cluster/cluster.ts';
import { updateHost } from '../../../operations/cluster/hosts.ts';
import { chartPlace, samplesFor } from '../../components/charts.ts';
import { formOf } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { redirectAfter } from '../../components/notice.ts';
import { page } from '../../components/page.ts';
import {
  ago,
  badge,
  checkbox,
  coresNumber,
  crumbs,
  facts,
  field,
  live,
  timeOf,
} from '../../components/pieces.ts';
import { kindMark, termHeading, termList } from '../../components/terms.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { rowsOf } from './cluster-history.ts';
import { coreMeters, memoryMeters } from './host-meters.ts';
import { hostRemovalPages } from './host-removal.ts';

export function hostPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', (c) => c.redirect('/cluster', 303));
  routes.get('/:id', async (c) => hostPage(c, await viewHost(deps, c.get('actor'), pathId(c, 'id'))));
  routes.post('/:id/drain', async (c) => {
    const id = pathId(c, 'id');
    const force = (await formOf(c)).has('force');
    const done = force
      ? 'The host is drained: everything on it moves to other hosts.'
      : 'The host is drained: it gets no new work, and elastic services leave it.';
    return redirectAfter(c, `/cluster/hosts/${id}`, done, () =>
      updateHost(deps, c.get('actor'), id, async () => ({ schedulable: false, force })),
    );
  });
  routes.post('/:id/undrain', async (c) => {
    const id = pathId(c, 'id');
    return redirectAfter(c, `/cluster/hosts/${id}`, 'The host accepts work again.', () =>
      updateHost(deps, c.get('actor'), id, async () => ({ schedulable: true })),
    );
  });
  routes.post('/:id/labels', async (c) => {
    const id = pathId(c, 'id');
    return redirectAfter(c, `/cluster/hosts/${id}`, 'The labels were changed.', () =>
      updateHost(deps, c.get('actor'), id, async () => ({
        labels: checked(hostLabels, labelsIn((await formOf(c)).get('labels') ?? ''), 'list of labels'),
      })),
    );
  });
  routes.post('/:id/accept', async (c) => {
    const id = pathId(c, 'id');
    return redirectAfter(c, `/cluster/hosts/${id}`, 'The labels and the size are agreed.', () =>
      updateHost(deps, c.get('actor'), id, async () => ({ accept: offerIn(await formOf(c)) })),
    );
  });
  routes.route('/', hostRemovalPages(deps));
  return routes;
}

/** Splits labels at spaces and commas. Beyond the first hundred, which are too many, it looks for no more. */
export const labelsIn = (text: string): string[] => text.split(/[\s,]+/, 100).filter((label) => label !== '');

const hostPage = (c: WebContext, host: SeenHost): Promise<Response> =>
  page(c, {
    title: host.name,
    scripts: ['charts'],
    body: html`
${crumbs([['/cluster', 'Cluster']])}
${live('host', [`host:${host.id}`, 'service', 'time'], hostPart(host, c.get('nowMs')))}
<h2>Last hour</h2>
${chartPlace('samples')}
${live('history', ['time'], hostHistoryPart(host))}
${c.get('account').role.canChangeConfig ? html`<h2>Manage this host</h2><div class="grid">${offerCard(host)}${drainCard(host)}${labelCard(host)}${removeCard(host)}</div>` : ''}`,
  });

const hostPart = (host: SeenHost, nowMs: number): Html => html`
<div class="bar"><h1>${host.name} ${badge(host.state)}</h1></div>
${host.conditions.map(({ text }) => html`<p class="notice waits">${text}</p>`)}
${host.pending ? html`<p class="notice waits">This host offers more than was agreed. An administrator must accept that before it counts.</p>` : ''}
<div class="card">${facts([
  ['ID', host.id],
  ['Address', host.address],
  ['Memory', memoryMeters(host)],
  ['Cores', coreMeters(host)],
  ['Labels', labelsText(host)],
  ['Agent', `${host.agentVersion}, ${host.connected ? 'connected' : 'not connected'}`],
  ['Engine', `Docker ${host.engineVersion}`],
  ['Last contact', ago(host.heardMs, nowMs)],
])}</div>
<h2>Services</h2>
${host.services.length === 0 ? html`<p class="quiet">No services on this host.</p>` : servicesTable(host.services)}`;

const labelsText = ({ labels: all, adminLabels }: SeenHost): string =>
  all.length === 0
    ? 'none'
    : all.map((label) => (adminLabels.includes(label) ? label : `${label} (set by the agent)`)).join(', ');

const servicesTable = (services: readonly SeenService[]): Html => html`
<div class="scroll"><table>
<thead><tr><th scope="col">Service</th><th scope="col">Execution</th><th scope="col">Kind</th>${termHeading('State')}${termHeading('Container')}</tr></thead>
<tbody>${services.map(
  ({ own, essential, status, backendStatus }) => html`
<tr>${
    own
      ? html`<th scope="row">${own.name}</th><td><a href="/executions/${own.executionId}">${own.executionName} (${own.executionId})</a></td>`
      : html`<th scope="row" class="quiet">Another user's service</th><td></td>`
  }
<td>${kindMark(essential)}</td><td>${badge(status)}</td><td>${badge(backendStatus)}</td></tr>`,
)}</tbody>
</table></div>
${termList('essential', 'elastic', 'State', 'Container')}`;

const force = checkbox(
  'force',
  'Also move essential services',
  false,
  'Their executions go back to the queue and start again on other hosts.',
);

function drainCard({ id, schedulable }: SeenHost): Html {
  if (schedulable)
    return html`
<form class="card" method="post" action="/cluster/hosts/${id}/drain">
<h3>Drain</h3>
<p>The host gets no new work, and elastic services leave it. Essential services stay until they end.</p>
${force}
<button>Drain host</button>
</form>`;
  return html`
<div class="card">
<h3>Drained</h3>
<form method="post" action="/cluster/hosts/${id}/undrain"><p>The host gets no new work.</p><button class="primary">Accept work again</button></form>
<form method="post" action="/cluster/hosts/${id}/drain"><input type="hidden" name="force" value="on"><p class="hint">Essential services stay until they end. If you move them, their executions go back to the queue and start again on other hosts.</p><button data-confirm="Executions with essential services on this host will start again on other hosts. Continue?">Move essential services</button></form>
</div>`;
}

const labelCard = ({ id, adminLabels }: SeenHost): Html => html`
<form class="card" method="post" action="/cluster/hosts/${id}/labels">
<h3>Labels</h3>
${field(
  {
    name: 'labels',
    label: 'Additional labels',
    hint: "Separated by spaces, added to the agent's own. A service that requires labels runs only on hosts that have all of them.",
  },
  (it) => html`<input ${it} value="${adminLabels.join(' ')}" autocapitalize="none" spellcheck="false">`,
)}
<button>Save labels</button>
</form>`;

const removeCard = ({ id }: SeenHost): Html => html`
<div class="card">
<h3>Remove</h3>
<p>Removes this host from the cluster. Its agent stops its containers, and can join again only with a new join token.</p>
<a class="button danger" href="/cluster/hosts/${id}/remove">Remove host</a>
</div>`;

const COLUMNS = ['memoryReserved', 'memoryUsed', 'memory', 'coresReserved', 'coresUsed', 'cores'] as const;

/** The last hour of a host: a table, and the samples for browser/charts.ts. */
const hostHistoryPart = ({ memoryBytes, cores, samples }: SeenHost): Html => html`
${samplesFor(
  'samples',
  COLUMNS,
  samples.map((one) => ({
    atMs: one.atMs,
    memoryReserved: one.reservedMemoryBytes,
    memoryUsed: one.usedMemoryBytes,
    memory: memoryBytes,
    coresReserved: one.reservedCores,
    coresUsed: one.usedCores,
    cores,
  })),
)}
<details class="card">
<summary>Last hour as a table</summary>
<p class="hint">Samples are kept for an hour, and are lost when the control plane restarts.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Time</th><th scope="col">Memory reserved</th><th scope="col">Memory in use</th><th scope="col">Cores reserved</th><th scope="col">Cores in use</th></tr></thead>
<tbody>${rowsOf(samples).map(row)}</tbody>
</table></div>
</details>`;

const row = (one: HostSample): Html => html`
<tr><th scope="row">${timeOf(one.atMs)}</th>
<td>${memoryText(one.reservedMemoryBytes)}</td>
<td>${one.usedMemoryBytes === null ? 'unknown' : memoryText(one.usedMemoryBytes)}</td>
<td>${coresNumber(one.reservedCores)}</td>
<td>${one.usedCores === null ? 'unknown' : coresNumber(one.usedCores)}</td></tr>`;

const offerText = z.string().transform((text, context) => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});

/** The offer that the page has shown. */
function offerIn(form: URLSearchParams): HostOffer {
  const text = form.get('offer') ?? '';
  const { labels, memory, cores } = checked(offerText.pipe(hostOffer), text, 'offer');
  return { labels, memoryBytes: memory, cores };
}

/** What a host offers beyond what was agreed: both amounts, and the form that accepts them. */
function offerCard({ id, pending, labels, adminLabels, memoryBytes, cores }: Offering): Html {
  if (!pending) return html``;
  const offer = { labels: pending.labels, memory: pending.memoryBytes, cores: pending.cores };
  const agreed = labels.filter((label) => !adminLabels.includes(label));
  const change = (now: string, then: string) => (now === then ? now : `${now}, offers ${then}`);
  return html`
<form class="card" method="post" action="/cluster/hosts/${id}/accept">
<h3>Offers more</h3>
<p>Its agent offers more than was agreed when it joined. Accept only what this machine is meant to have: services that require these labels will run here.</p>
${facts([
  ['Labels', change(agreed.join(', ') || 'none', pending.labels.join(', ') || 'none')],
  ['Memory', change(memoryText(memoryBytes), memoryText(pending.memoryBytes))],
  ['Cores', change(coresText(cores), coresText(pending.cores))],
])}
<input type="hidden" name="offer" value="${JSON.stringify(offer)}">
<button class="primary">Accept</button>
</form>`;
}

type Offering = Pick<HostView, 'id' | 'pending' | 'labels' | 'adminLabels' | 'memoryBytes' | 'cores'>;
