/** The usage page of an execution: what the last start of each service used, as numbers, chart and table. */
import { Hono } from 'hono';
import type { UsagePoint } from '../../../../shared/protocol/usage-lines.ts';
import { OperationError } from '../../../core/model/errors.ts';
import { requirementOf } from '../../../core/model/resources.ts';
import { memoryText } from '../../../core/model/text.ts';
import type { ServiceView } from '../../../core/views/execution-views.ts';
import { MAX_SERVICES } from '../../../http/api/execution-logs.ts';
import { pathId } from '../../../http/request.ts';
import { getExecution } from '../../../operations/executions/reads.ts';
import {
  listExecutionUsage,
  type SeenServiceUsage,
  type SeenUsage,
} from '../../../operations/executions/usage.ts';
import { chartPlace, samplesFor } from '../../components/charts.ts';
import { type Html, html } from '../../components/html.ts';
import { page } from '../../components/page.ts';
import { badge, coresNumber, crumbs, empty, facts, live, timeOf } from '../../components/pieces.ts';
import { serviceChoice } from '../../components/service-choice.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { limitText } from './execution-description.ts';

/** Charts of a service: memory and cores. */
const CHARTS = 2;
/** Rows of a table beside others. */
const FEW_ROWS = 10;

export function usagePages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/:id/usage', (c) => usagePage(c, deps));
  return routes;
}

async function usagePage(c: WebContext, deps: WebDeps): Promise<Response> {
  const [actor, id] = [c.get('actor'), pathId(c, 'id')];
  const execution = await getExecution(deps, actor, id);
  const wanted = c.req.query('service') ?? '';
  const chosen = (all: readonly ServiceView[]) =>
    wanted === '' ? all.slice(0, MAX_SERVICES) : all.filter((service) => String(service.id) === wanted);
  const { services, usages } = await listExecutionUsage(deps, actor, id, chosen);
  if (wanted !== '' && usages.length === 0)
    throw new OperationError('not-found', 'There is no such service.');
  return page(c, {
    title: `Usage of ${execution.name} #${id}`,
    scripts: ['charts'],
    body: html`
${crumbs([
  ['/executions', 'Executions'],
  [`/executions/${id}`, execution.name],
])}
<div class="bar">
<h1>Usage of ${execution.name} <span class="quiet">#${id}</span></h1>
${serviceChoice({ services, chosen: wanted, isFollowed: false })}
</div>
${services.length === 0 ? empty('No services', html`<p>This execution has no services.</p>`) : ''}
${usages.map((one) => serviceUsage(one, usages.length === 1, deps.defaultMemoryBytes))}
<p class="hint">This is the last start of each service, over its whole life. Its host measures every 30 s, and keeps the samples for six hours after the end. They begin anew if the agent of the host is restarted.</p>`,
  });
}

const serviceUsage = (
  seen: SeenServiceUsage,
  isAlone: boolean,
  defaultMemoryBytes: number | undefined,
): Html => {
  const { service } = seen;
  return html`
<section aria-labelledby="title-${service.id}">
<h2 id="title-${service.id}">${service.name}</h2>
${chartPlace(`samples-${service.id}`, seen.usage?.samples.length ? CHARTS : 0)}
${live(`usage-${service.id}`, [`execution:${service.executionId}`, 'time'], usagePart(seen, isAlone, defaultMemoryBytes))}
</section>`;
};

function usagePart(
  { service, usage, problem }: SeenServiceUsage,
  isAlone: boolean,
  defaultMemoryBytes: number | undefined,
): Html {
  const samples = usage?.samples ?? [];
  const { memoryBytes, limitBytes, cores } = requirementOf(service.description);
  return html`
${samplesFor(
  `samples-${service.id}`,
  ['memoryReserved', 'memoryUsed', 'memoryLimit', 'coresReserved', 'coresUsed'],
  spansOf(usage).map(([atMs, one]) => ({
    atMs,
    memoryReserved: memoryBytes,
    memoryUsed: one.memoryBytes,
    // Null without a limit.
    memoryLimit: (limitBytes ?? defaultMemoryBytes) || null,
    coresReserved: cores,
    coresUsed: one.cores,
  })),
)}
${problem === null ? '' : html`<p class="notice waits">${problem}</p>`}
${usage && samples.length === 0 ? html`<p class="quiet">${whyNone(service)}</p>` : ''}
${usage && samples.length > 0 ? sums(service, usage, defaultMemoryBytes) : ''}
${samples.length > 0 ? table(service, samples, isAlone) : ''}`;
}

/**
 * When the time begins that a sample is for: at the sample before, or at the start. A chart keeps a value
 * until the next one, so that the last sample ends it.
 */
export function spansOf(usage: SeenUsage | null): [fromMs: number, sample: UsagePoint][] {
  const { startedAtMs = null, samples = [] } = usage ?? {};
  const last = samples.at(-1);
  if (startedAtMs === null || !last) return [];
  const spans = samples.map((one, at): [number, UsagePoint] => [samples[at - 1]?.timeMs ?? startedAtMs, one]);
  return [...spans, [last.timeMs, last]];
}

const whyNone = ({ starts }: ServiceView): string =>
  starts === 0
    ? 'The service has not been started yet.'
    : 'There are no samples: the service has just started or ran for a short time, or its host has none any more.';

function sums(
  service: ServiceView,
  { startedAtMs, samples }: SeenUsage,
  defaultMemoryBytes: number | undefined,
): Html {
  const reserved = requirementOf(service.description);
  const last = samples.at(-1);
  if (!last || startedAtMs === null) return html``;
  const isRunning = service.backendStatus === 'started';
  const when = isRunning ? 'now' : 'at the end';
  const highest = Math.max(...samples.map(({ memoryBytes }) => memoryBytes));
  return html`<div class="card">${facts([
    ['State', badge(service.status)],
    ['Started', timeOf(startedAtMs)],
    [
      'Memory',
      `${memoryText(last.memoryBytes)} ${when}, ${memoryText(highest)} at most, ${memoryText(reserved.memoryBytes)} reserved; ${limitText(reserved.limitBytes, defaultMemoryBytes)}`,
    ],
    [
      'Cores',
      `${coresNumber(last.cores)} ${when}, ${coresNumber(averageOf(samples, startedAtMs))} on average, ${coresNumber(reserved.cores)} reserved`,
    ],
  ])}</div>`;
}

/** Over the whole life. */
function averageOf(samples: readonly UsagePoint[], startedAtMs: number): number {
  let coreMs = 0;
  let beforeMs = startedAtMs;
  for (const { timeMs, cores } of samples) {
    coreMs += cores * (timeMs - beforeMs);
    beforeMs = timeMs;
  }
  return Number((coreMs / (beforeMs - startedAtMs)).toFixed(3));
}

/** Newest first. */
function table(
  { executionId, id, name }: ServiceView,
  samples: readonly UsagePoint[],
  isAlone: boolean,
): Html {
  const shown = samples.toReversed().slice(0, isAlone ? samples.length : FEW_ROWS);
  return html`
<details class="card"${isAlone ? html` open` : ''}>
<summary>Samples of ${name} as a table</summary>
<div class="scroll"><table>
<thead><tr><th scope="col">Until</th><th scope="col">Highest memory</th><th scope="col">Average cores</th></tr></thead>
<tbody>${shown.map(
    (one) =>
      html`<tr><th scope="row">${timeOf(one.timeMs)}</th><td>${memoryText(one.memoryBytes)}</td><td>${coresNumber(one.cores)}</td></tr>`,
  )}</tbody>
</table></div>
${shown.length < samples.length ? html`<p class="hint"><a href="/executions/${executionId}/usage?service=${id}">Show all ${samples.length} samples</a></p>` : ''}
</details>`;
}
