/** Explains the words of service tables, as tooltips and as a list below the table. */
import { type Html, html } from './html.ts';

export const TERMS = {
  essential: 'All essential services of an execution start together. Without them it stays queued.',
  elastic: 'Elastic services are added while there is capacity, and stopped when essential services need it.',
  monitor: 'When a monitor service exits, the execution ends.',
  health:
    'Its host checks its health, as its description states. It is active once it is healthy, and stopped when it is unhealthy.',
  State:
    'What Berth does with the service. Active: its container has started and, if its health is checked, is healthy.',
  Container: 'The container as its host last reported it: created, started, dead or destroyed.',
  Starts: 'How often the service has been started.',
} as const;
type Term = keyof typeof TERMS;

export const termList = (...terms: readonly Term[]): Html => html`
<details class="terms"><summary>What these words mean</summary>
<dl class="facts">${terms.map((term) => html`<dt>${term}</dt><dd>${TERMS[term]}</dd>`)}</dl>
</details>`;

/** `essential` or `elastic`, with its explanation as the tooltip. */
export const kindMark = (essential: boolean): Html => {
  const kind = essential ? 'essential' : 'elastic';
  return html`<span class="mark${essential ? ' strong' : ''}" title="${TERMS[kind]}">${kind}</span>`;
};

/** The heading of a column, with its explanation as the tooltip. */
export const termHeading = (term: 'State' | 'Container' | 'Starts', className = ''): Html =>
  html`<th scope="col"${className && html` class="${className}"`} title="${TERMS[term]}">${term}</th>`;
