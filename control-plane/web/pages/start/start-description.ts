/** The form for a full description, with its problems by line. */
import type { Application } from '../../../../shared/application-schema.ts';
import { MICRO } from '../../../core/accounts/quota.ts';
import { instancesOf } from '../../../core/lifecycle/submission.ts';
import { coresText, count, memoryText } from '../../../core/model/text.ts';
import { SCHEMA_PATH } from '../../../http/routes/schema.ts';
import type { Problems } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { field } from '../../components/pieces.ts';
import type { CheckedText, Draft, TextProblem } from '../../description/draft.ts';
import { actions, FORMAT_PATH, type FormPlace, startForm } from './start-frame.ts';

export interface DescriptionForm {
  draft: Draft;
  checked: CheckedText;
  /** Problems of the name. */
  problems?: Problems | undefined;
  /** Whether the user has sent the form: only then is a missing description a problem. */
  isSent?: boolean;
}

export function descriptionForm(
  place: FormPlace,
  { draft, checked: found, problems, isSent }: DescriptionForm,
): Html {
  const { name, description } = draft;
  const checked = isSent && description.trim() === '' ? NOTHING : found;
  const isInvalid = isSent && !checked.valid;
  const body = html`
${field({ name: 'name', label: 'Name of the execution', hint: 'Optional. Default: the name of the application.', problems }, (it) => html`<input ${it} value="${name}" maxlength="128" autocomplete="off">`)}
<div class="field">
<div class="bar"><label for="description"><b>Description</b></label>
<label class="button push scripted" id="open">Open file<input type="file" class="unseen" accept=".json,application/json,text/plain"></label></div>
<div class="editor"><div class="gutter scripted" aria-hidden="true"></div>
<textarea id="description" name="description" rows="22" wrap="off" spellcheck="false" autocapitalize="none" autocomplete="off" aria-describedby="description-hint check-summary"${isInvalid ? html` aria-invalid="true"` : ''}>
${description}</textarea></div>
<p class="hint" id="description-hint">JSON in format 3 (<a href="${FORMAT_PATH}">templates and all fields</a>, ${place.docsPath ? html`<a href="${place.docsPath}">API documentation</a>, ` : ''}<a href="${SCHEMA_PATH}">JSON Schema</a> for editors). Type or paste it<span class="scripted">, or drop a file here</span>.</p>
<div id="check">${checkedText(description, checked)}</div>
</div>
${actions('')}`;
  return startForm(place, body);
}

const NOTHING: CheckedText = {
  problems: [{ line: 1, column: 1, path: '', message: 'the description is empty; type or paste it' }],
};

/** The result of the check. The script uses `data-line` and `data-column` to mark and find the lines. */
export function checkedText(text: string, checked: CheckedText): Html {
  const { valid, problems } = checked;
  if (text.trim() === '' && checked !== NOTHING)
    return html`<p class="hint" id="check-summary" role="status"></p>`;
  if (valid) {
    const { application } = valid;
    return html`<p class="fine" id="check-summary" role="status">Valid: ${neededText(application)}.</p>`;
  }
  return html`
<p class="problem" id="check-summary" role="status">${count(problems.length, 'problem')}</p>
<ol class="problems">${problems.map(problemItem)}</ol>`;
}

const problemItem = ({ line, column, path, message }: TextProblem): Html =>
  html`<li><a href="#description" data-line="${line}" data-column="${column}">Line ${line}, column ${column}</a>: ${path === '' ? '' : html`<code>${path}</code> `}${message}</li>`;

function neededText(application: Application): string {
  const instances = instancesOf(application);
  const essential = instances.filter((instance) => instance.essential);
  const needs = essential.map(({ requirement }) => requirement);
  const memoryBytes = needs.reduce((sum, need) => sum + need.memoryBytes, 0);
  const microCores = needs.reduce((sum, need) => sum + Math.round(need.cores * MICRO), 0);
  const limitBytes = needs.reduce((sum, need) => sum + (need.limitBytes ?? 0), 0);
  const unlimited = needs.filter((need) => need.limitBytes === null).length;
  const elastic = instances.length - essential.length;
  return [
    `${application.name} has ${count(essential.length, 'essential service')}`,
    essential.length > 1 ? ', which start together,' : '',
    elastic > 0 ? ` and ${count(elastic, 'elastic service')}, added while there is capacity` : '',
    `. To start it needs ${memoryText(memoryBytes)} of memory and ${coresText(microCores / MICRO)} on hosts`,
    `; under the quota its memory limits count: ${memoryText(limitBytes)}`,
    unlimited > 0 ? `, and the default limit for ${count(unlimited, 'service')} without one` : '',
  ].join('');
}
