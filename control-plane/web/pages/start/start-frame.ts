/** The parts that both start forms share: tabs, the result of the last button, and the rest of the quota. */

import type { Allowance } from '../../../core/accounts/quota.ts';
import type { OperationError } from '../../../core/model/errors.ts';
import type { Explanation } from '../../../core/views/explanation.ts';
import { allowanceMeters } from '../../components/allowance.ts';
import { forecast } from '../../components/explanation.ts';
import { type Html, html } from '../../components/html.ts';
import { draftOf, live, restoredNote, tabs } from '../../components/pieces.ts';

export interface Outcome {
  status?: number;
  /** Where the execution would be placed, or what it would wait for. */
  forecast?: Explanation;
  error?: OperationError;
}

export interface StartFrame {
  by: 'form' | 'description';
  /** Where its fields come from, as in URLs: `from=5`, an execution, or `template=web`. */
  source?: string | undefined;
  form: Html;
  outcome: Outcome;
  allowance: Allowance | undefined;
  /** What it gets from the user, if somebody else has described it. */
  review?: Html | undefined;
}

export const FORMAT_PATH = '/start/format';

/** Links to the ways to describe an execution; `path` is the present one. */
export const ways = (path: string, description = '/start?by=description'): Html =>
  tabs(
    'Kinds of input',
    [
      ['/start?by=form', 'Form'],
      [description, 'JSON description'],
      [FORMAT_PATH, 'Templates and format'],
    ],
    path,
  );

export function startBody({ by, source, form, outcome, allowance, review = html`` }: StartFrame): Html {
  const description = source === undefined ? undefined : `/start?by=description&${source}`;
  return html`
<h1>New execution</h1>
${ways(by === 'form' ? '/start?by=form' : (description ?? '/start?by=description'), description)}
<div class="beside">
<div>
${review}
${outcomePart(outcome)}
${form}
</div>
<aside aria-labelledby="quota-title">
<div class="card">
<h2 id="quota-title">Your quota</h2>
${live('quota', ['execution'], allowance ? allowanceMeters(allowance) : html`<p class="quiet">Not available at the moment.</p>`)}
</div>
</aside>
</div>`;
}

/** The result of the button. It takes the focus, so that screen readers announce it first. */
function outcomePart({ forecast: explanation, error, status }: Outcome): Html {
  const body = error
    ? html`<p class="notice failed" role="alert">${error.message}</p>`
    : explanation
      ? html`<section class="card" aria-labelledby="forecast-title"><h2 id="forecast-title">Placement check</h2>${forecast(explanation)}<button class="primary" form="start" name="action" value="submit">${explanation.placement ? 'Start' : 'Submit to the queue'}</button></section>`
      : status === 400
        ? html`<p class="notice failed" role="alert">Nothing was submitted. Correct the problems below.</p>`
        : '';
  return html`<div id="outcome"${body === '' ? '' : html` tabindex="-1" autofocus`}>${body}</div>`;
}

/** The buttons at the end of both forms. */
export const actions = (more: Html | ''): Html => html`
<div class="bar actions">
<button class="primary" name="action" value="submit">Start</button>
<button name="action" value="explain">Check placement</button>
${more}
</div>`;

/** Which form it is, and whose. */
export interface FormPlace {
  by: StartFrame['by'];
  source?: StartFrame['source'];
  /** True if nothing was sent yet, so that the script may restore a draft. */
  fresh: boolean;
  username: string;
  /** Path of the API documentation; undefined in variants without one. */
  docsPath?: string | undefined;
}

/**
 * The form around all fields. Enter in a field presses its first button, which changes nothing. The script
 * keeps what is typed (browser/parts/drafts.ts), and shows the note after it has restored a draft.
 */
export function startForm({ by, source, fresh, username }: FormPlace, body: Html): Html {
  const query = source === undefined ? `by=${by}` : `by=${by}&${source}`;
  return html`
<form class="card" method="post" action="/start?${query}" id="start"${draftOf(query, username, fresh)}>
<button class="unseen" name="action" value="explain" tabindex="-1" aria-hidden="true">Check placement</button>
${restoredNote}
${body}
</form>`;
}

/** A problem as a sentence. */
export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
