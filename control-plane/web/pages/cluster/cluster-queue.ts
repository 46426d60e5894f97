/** The head of the queue: what each execution waits for, with the same reasons stated once. */
import type { SeenCluster, SeenQueued } from '../../../operations/cluster/cluster.ts';
import { type Html, html } from '../../components/html.ts';
import { ago } from '../../components/pieces.ts';

export function queuePart({ queue, summary }: SeenCluster, nowMs: number): Html {
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
