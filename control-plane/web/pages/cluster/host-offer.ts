/** What a host offers beyond what was agreed, on its page: both amounts, and the form that accepts them. */
import * as z from 'zod';
import type { HostOffer } from '../../../core/model/host.ts';
import { coresText, memoryText } from '../../../core/model/text.ts';
import type { HostView } from '../../../core/views/host-view.ts';
import { hostOffer } from '../../../http/json/request-schemas.ts';
import { checked } from '../../../http/request.ts';
import { type Html, html } from '../../components/html.ts';
import { facts } from '../../components/pieces.ts';

const offerText = z.string().transform((text, context) => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});

/** The offer that the page has shown. */
export function offerIn(form: URLSearchParams): HostOffer {
  const text = form.get('offer') ?? '';
  const { labels, memory, cores } = checked(offerText.pipe(hostOffer), text, 'offer');
  return { labels, memoryBytes: memory, cores };
}

export function offerCard({ id, pending, labels, adminLabels, memoryBytes, cores }: Offering): Html {
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
