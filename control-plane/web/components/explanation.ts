/**
 * Renders why an execution waits, or where it would be placed. The sentences come from core
 * (core/model/text.ts).
 */
import type { Explanation } from '../../core/views/explanation.ts';
import { demandText } from '../../core/views/start-demand.ts';
import { type Html, html } from './html.ts';

/** What would happen to a submission now. */
export function forecast(explanation: Explanation): Html {
  const { summary, placement, fitsWhenIdle } = explanation;
  if (placement) return html`<p class="notice done">${summary}</p>${reasonsOf(explanation)}`;
  if (fitsWhenIdle) return html`<p class="notice waits">${summary}</p>${reasonsOf(explanation)}`;
  return html`
<p class="notice failed">It can't start on the cluster as it is now: it would stay queued until something changes.</p>
${reasonsOf(explanation)}`;
}

/** The reasons for waiting with their remedies, or the placement. */
export function reasonsOf({ waitingFor, placement, demand }: Explanation): Html {
  const places = placement?.map(
    ({ host, instances }) => html`<dt>${host}</dt><dd>${instances.join(', ')}</dd>`,
  );
  return html`
${demand ? html`<p>${demandText(demand)}</p>` : ''}
${waitingFor.length > 0 ? html`<ul>${waitingFor.map((text) => html`<li>${text}</li>`)}</ul>` : ''}
${places ? html`<dl class="facts">${places}</dl>` : ''}`;
}
