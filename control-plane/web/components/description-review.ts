/** What a description of another user would run and take as one's own, before it is submitted. */
import type { Application } from '../../../shared/application-schema.ts';
import { reviewOf, TAKES_OF_ITS_OWNER } from '../../../shared/description-review.ts';
import type { ExecutionView } from '../../core/views/execution-views.ts';
import type { WebContext } from '../context.ts';
import { type Html, html } from './html.ts';
import { facts } from './pieces.ts';

/** Whether somebody else wrote the description of the execution. */
export const isOfAnother = (c: WebContext, { userId }: ExecutionView): boolean =>
  userId !== c.get('account').user.id;

export const descriptionReview = ({ userName, description }: ExecutionView): Html => html`
${facts([
  ['Owner', userName],
  ...reviewOf(JSON.parse(description) as Application).map(({ name, entries }): [string, Html] => [
    name,
    entries.length === 0
      ? html`none`
      : html`${entries.map((entry) => html`<div class="lines"><code>${entry}</code></div>`)}`,
  ]),
])}
<p>${TAKES_OF_ITS_OWNER}</p>`;
