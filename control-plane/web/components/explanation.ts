/** Owns how it reads why something waits, or where it would go: the sentences are core's (core/explain.ts). */
import type { Explanation } from '../../core/views/explanation.ts';
import { type Html, html } from './html.ts';

/** What would become of a submission. */
export function forecast(explanation: Explanation): Html {
  const { summary, placement, fitsWhenIdle } = explanation;
  if (placement) return html`<p class="notice done">${summary}</p>${reasonsOf(explanation)}`;
  if (fitsWhenIdle) return html`<p class="notice waits">${summary}</p>${reasonsOf(explanation)}`;
  return html`
<p class="notice failed">It can't start on the cluster as it is now: it would stay queued until something changes.</p>
${reasonsOf(explanation)}`;
}

/** What holds it and what would change that, or where it would go. */
export function reasonsOf({ waitingFor, placement }: Explanation): Html {
  const places = placement?.map(
    ({ host, instances }) => html`<dt>${host}</dt><dd>${instances.join(', ')}</dd>`,
  );
  return html`
${waitingFor.length > 0 ? html`<ul>${waitingFor.map((text) => html`<li>${text}</li>`)}</ul>` : ''}
${places ? html`<dl class="facts">${places}</dl>` : ''}`;
}
