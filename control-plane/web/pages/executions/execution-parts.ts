/** Parts of an execution's page: its timeline, why it waits, and its services. */

import { type ExecutionStatus, isEnded } from '../../../core/model/execution.ts';
import {
  type ExecutionView,
  healthOf,
  isEssential,
  type ServiceHealth,
  type ServiceView,
} from '../../../core/views/execution-views.ts';
import type { Explanation } from '../../../core/views/explanation.ts';
import { demandText } from '../../../core/views/start-demand.ts';
import { duration } from '../../components/duration.ts';
import { type Html, html } from '../../components/html.ts';
import { ago, badge, elapsed, timeOf, until } from '../../components/pieces.ts';
import { kindMark, TERMS, termHeading, termList } from '../../components/terms.ts';
import { endedMark } from './execution-starts.ts';
import { filesPath } from './files.ts';
import { terminalPath } from './terminal.ts';

interface Step {
  name: string;
  /** When the state began, if that is recorded. */
  sinceMs: number | null;
  untilMs: number | null;
}

/** The states that an execution has passed through, with their recorded times. */
export function stepsOf(execution: ExecutionView): Step[] {
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

export function timeline(execution: ExecutionView, nowMs: number): Html {
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
export function waiting({
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

export interface ServiceTable {
  /** All rows, however many. */
  showAll: boolean;
  /** Whether the role of the user may see the pages of hosts. */
  linksHosts: boolean;
  /** Why a service has no terminal and no files now; undefined if it has. */
  whyNoStream(service: ServiceView): string | undefined;
  nowMs: number;
}

export function serviceTable(
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
export function ended({ timeStartMs, timeStopMs, timeEndMs }: ExecutionView, nowMs: number): Html {
  const ran =
    timeStartMs === null || timeEndMs === null
      ? ''
      : ` It ran for ${duration((timeStopMs ?? timeEndMs) - timeStartMs)}.`;
  return html`${ran} It ended ${ago(timeEndMs, nowMs)}.`;
}
