/** The last starts of an execution's services, on the page of the execution. */
import { exitText, type StartView } from '../../../core/views/service-starts.ts';
import { duration } from '../../components/duration.ts';
import { type Html, html } from '../../components/html.ts';
import { elapsed, timeOf } from '../../components/pieces.ts';

/** Rows on the page. */
export const SHOWN_STARTS = 50;

/** `starts`: the latest first, at most SHOWN_STARTS and one more. */
export function startTable(starts: readonly StartView[], nowMs: number): Html | '' {
  if (starts.length === 0) return '';
  const isCut = starts.length > SHOWN_STARTS;
  return html`
<section aria-labelledby="starts-title">
<h2 id="starts-title">Starts</h2>
<div class="scroll"><table>
<thead><tr><th scope="col">Service</th><th scope="col" class="number">Start</th><th scope="col">Host</th>
<th scope="col">Started</th><th scope="col">Ran for</th><th scope="col">Ended</th><th scope="col">How</th></tr></thead>
<tbody>${starts.slice(0, SHOWN_STARTS).map((start) => startRow(start, nowMs))}</tbody>
</table></div>
${isCut ? html`<p class="below">These are the last ${SHOWN_STARTS}. <code>berth get ID/SERVICE</code> shows the last 20 of each service.</p>` : ''}
</section>`;
}

function startRow(start: StartView, nowMs: number): Html {
  const { serviceId, service, generation, host, startMs, runMs, endMs, hasEndedExecution } = start;
  return html`
<tr>
<th scope="row"><a href="#service-${serviceId}">${service}</a></th>
<td class="number">${generation}</td>
<td>${host}</td>
<td>${timeOf(startMs)}</td>
<td>${runMs === null ? html`<span class="quiet">did not run</span>` : endMs === null ? elapsed(runMs, nowMs) : duration(endMs - runMs)}</td>
<td>${endMs === null ? '' : timeOf(endMs)}</td>
<td>${exitText(start)}${hasEndedExecution ? endedMark : ''}</td>
</tr>`;
}

/** Marks the service, and the start, whose end has decided that of the execution. */
export const endedMark: Html = html` <span class="mark strong">ended the execution</span>`;
