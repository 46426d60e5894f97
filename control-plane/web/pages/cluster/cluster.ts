/** The page of the cluster: hosts, queue with reasons, and the last hour. */
import { Hono } from 'hono';
import { coresText, memoryText } from '../../../core/model/text.ts';
import { type HostView, hostStates } from '../../../core/views/host-view.ts';
import {
  type HostSearch,
  type SeenCluster,
  type SeenQueued,
  viewCluster,
} from '../../../operations/cluster/cluster.ts';
import { chartPlace } from '../../components/charts.ts';
import { type Html, html } from '../../components/html.ts';
import { page } from '../../components/page.ts';
import { ago, badge, coresNumber, empty, facts, live, options } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { historyPart } from './cluster-history.ts';
import { hostPages } from './host.ts';
import { coreMeters, limitsText, memoryMeters, reservedText } from './host-meters.ts';
import { joinPages } from './join-token.ts';

/** Up to this many hosts, the page has no filter. */
const MAX_UNFILTERED = 10;

export function clusterPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    const search = searchOf(c);
    const cluster = await viewCluster(deps, c.get('actor'), search);
    const { canChangeConfig } = c.get('account').role;
    return page(c, {
      title: 'Cluster',
      scripts: ['charts'],
      body: html`
<div class="bar"><h1>Cluster</h1>${canChangeConfig ? html`<a class="button primary" href="/cluster/join">Add a host</a>` : ''}</div>
${cluster.summary.hosts.known > MAX_UNFILTERED || search.text || search.state ? filters(search) : ''}
${live('hosts', ['host', 'service', 'time'], hostsPart(c, cluster, deps.defaultMemoryBytes))}
<h2 id="queue-title">Queue</h2>
${live('queue', ['execution', 'time'], queuePart(cluster, c.get('nowMs')))}
<h2>Last hour</h2>
${chartPlace('samples')}
${live('history', ['execution', 'time'], historyPart(cluster.samples))}`,
    });
  });
  routes.route('/hosts', hostPages(deps));
  routes.route('/join', joinPages(deps));
  return routes;
}

function searchOf(c: WebContext): HostSearch {
  const state = c.req.query('state');
  return { text: c.req.query('text') ?? '', state: hostStates.find((one) => one === state) ?? null };
}

const filters = ({ text, state }: HostSearch): Html => html`
<form class="bar filters" method="get" action="/cluster" role="search" data-sparse autocomplete="off">
<label>Host <input name="text" type="search" value="${text}" placeholder="name, address, label"></label>
<label>State <select name="state">${options([['', 'any'], ...hostStates.map((one) => [one, one] as const)], state ?? '')}</select></label>
<button>Filter</button>
${text || state ? html`<a class="button quiet" href="/cluster">Clear</a>` : ''}
</form>`;

function hostsPart(
  c: WebContext,
  { hosts, hostsFound, summary, memoryLimits }: SeenCluster,
  defaultMemoryBytes: number | undefined,
): Html {
  if (summary.hosts.known === 0) {
    return empty(
      'No hosts yet',
      c.get('account').role.canChangeConfig
        ? html`<p>Executions stay queued until there is a host. <a href="/cluster/join">Add a host</a>: any Linux machine with Docker.</p>`
        : html`<p>Executions stay queued until an administrator adds a host.</p>`,
    );
  }
  const { known, connected, schedulable, ...sums } = summary.hosts;
  return html`
<div class="card">${facts([
    ['Hosts', `${connected} of ${known} connected, ${schedulable} accepting work`],
    ['Memory', `${reservedText(sums.reservedMemoryBytes, sums.memoryBytes)}, ${limitsText(memoryLimits)}`],
    ['Cores', html`${coresNumber(sums.reservedCores)} of ${coresText(sums.cores)} reserved`],
    ['Containers', summary.running.containers],
  ])}</div>
<p class="hint">Only what a service states as its minimum of memory is reserved. ${defaultMemoryBytes ? `One that states neither minimum nor maximum is limited to ${memoryText(defaultMemoryBytes)}.` : 'One that states neither minimum nor maximum has no limit.'}</p>
${hosts.length === 0 ? html`<p>No matching hosts.</p>` : hostTable(hosts, c.get('nowMs'))}
${hostsFound > hosts.length ? html`<p class="hint">${hostsFound - hosts.length} more are not shown. Use the filters to find them.</p>` : ''}`;
}

const hostTable = (hosts: readonly HostView[], nowMs: number): Html => html`
<div class="scroll"><table>
<thead><tr><th scope="col">Host</th><th scope="col">State</th><th scope="col">Memory</th><th scope="col">Cores</th><th scope="col" class="number">Containers</th><th scope="col">Labels</th><th scope="col">Agent, engine</th><th scope="col">Last contact</th></tr></thead>
<tbody>${hosts.map((host) => hostRow(host, nowMs))}</tbody>
</table></div>`;

const hostRow = (host: HostView, nowMs: number): Html => html`
<tr id="host-${host.id}">
<th scope="row"><a href="/cluster/hosts/${host.id}">${host.name}</a><br><span class="quiet">${host.address}</span></th>
<td>${badge(host.state)}${host.conditions.map(({ text }) => html`<p class="hint">${text}</p>`)}</td>
<td>${memoryMeters(host)}</td>
<td>${coreMeters(host)}</td>
<td class="number">${host.containers}</td>
<td>${host.labels.join(', ')}</td>
<td>${host.agentVersion}<br>Docker ${host.engineVersion}</td>
<td>${ago(host.heardMs, nowMs)}</td>
</tr>`;

/** The head of the queue: what each execution waits for, with the same reasons stated once. */
function queuePart({ queue, summary }: SeenCluster, nowMs: number): Html {
  const waiting = summary.queue.executions;
  if (waiting === 0) return html`<p class="quiet">The queue is empty.</p>`;
  const rest = waiting - queue.length;
  return html`
<p>${waiting === 1 ? '1 execution is waiting, submitted' : `${waiting} executions are waiting. The oldest was submitted`} ${ago(summary.queue.oldestSubmitMs, nowMs)}.</p>
${queue.length === 0 ? '' : html`<ol class="bare">${alike(queue).map((group) => card(group, nowMs))}</ol>`}
${queue.length > 0 && rest > 0 ? html`<p class="hint">${rest} more are behind these, or wait to be retried after a failed start.</p>` : ''}
${queue.length === 0 ? html`<p class="hint">Their start failed and will be retried.</p>` : ''}`;
}

/** Executions that wait for the same, in the order of the first of each group. */
const alike = (queue: readonly SeenQueued[]): SeenQueued[][] => [
  ...Map.groupBy(queue, ({ waitingFor }) => waitingFor.join('\n')).values(),
];

function card(group: readonly SeenQueued[], nowMs: number): Html {
  const [first, ...others] = group;
  if (!first) return html``;
  const reasons =
    first.waitingFor.length === 0
      ? html`<p>About to start.</p>`
      : first.waitingFor.map((text) => html`<p>${text}</p>`);
  if (others.length === 0)
    return html`
<li class="card">
<h3>${first.position}. ${nameOf(first)}</h3>
<p class="quiet">${sinceOf(first, nowMs)}</p>
${reasons}
</li>`;
  return html`
<li class="card">
<h3>${group.length} executions</h3>
${reasons}
<ul class="bare">${group.map((one) => html`<li>${one.position}. ${nameOf(one)} <span class="quiet">${sinceOf(one, nowMs)}</span></li>`)}</ul>
</li>`;
}

const nameOf = ({ own }: SeenQueued): Html | string =>
  own ? html`<a href="/executions/${own.id}">${own.name}</a>` : "Another user's execution";

const sinceOf = ({ own, timeSubmitMs }: SeenQueued, nowMs: number): Html =>
  html`${own ? html`${own.userName}, submitted` : 'Submitted'} ${ago(timeSubmitMs, nowMs)}`;
