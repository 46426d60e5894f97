/** The page of the description format: templates to start from, and every field with its meaning. */
import type { ReferenceSection } from '../../../../shared/application-json-schema.ts';
import { SCHEMA_PATH } from '../../../http/routes/schema.ts';
import { type Html, html } from '../../components/html.ts';
import { page } from '../../components/page.ts';
import type { WebContext } from '../../context.ts';
import { type Template, templates } from '../../description/templates.ts';
import { FORMAT_PATH, ways } from './start-frame.ts';

export async function formatPage(c: WebContext): Promise<Response> {
  // Loaded at the first request, to save memory until then.
  const schema = await import('../../../../shared/application-json-schema.ts');
  const { applicationReference, CHECKS_ACROSS_FIELDS, VARIABLE_REFERENCE, withCode } = schema;
  return page(c, {
    title: 'Templates and format',
    body: html`
<h1>New execution</h1>
${ways(FORMAT_PATH)}
<h2>Templates</h2>
<ul class="grid plain">${templates.map(templateCard)}</ul>
<h2>Description format</h2>
<p>A description is a JSON object of format 3. All required fields must be present, and an unknown key anywhere is an error. The same as <a href="${SCHEMA_PATH}">JSON Schema</a>, for editors.</p>
${applicationReference().map(sectionTable)}
<h3>Checks across fields</h3>
<ul>${CHECKS_ACROSS_FIELDS.map((check) => html`<li>${coded(withCode(check))}.</li>`)}</ul>
<h3>Variables</h3>
<p>Values of <code>environment</code> and words of <code>command</code> may refer to variables. <code>{{user_name}}</code> stands for the text <code>{user_name}</code>.</p>
<dl class="facts">${VARIABLE_REFERENCE.map(([reference, meaning]) => html`<dt>${coded(reference)}</dt><dd>${coded(meaning)}</dd>`)}</dl>`,
  });
}

const templateCard = ({ id, title, summary, application }: Template): Html => html`
<li class="card" id="template-${id}">
<h3>${title}</h3>
<p>${summary}</p>
<p><a class="button" href="/start?template=${id}">Start from this <span class="unseen">template: ${title}</span></a></p>
<details><summary>JSON<span class="unseen"> of ${title}</span></summary>
<pre tabindex="0">${JSON.stringify(application, null, 2)}</pre></details>
</li>`;

const sectionTable = ({ heading, rows }: ReferenceSection): Html => html`
<h3>${coded(heading)}</h3>
<div class="scroll" tabindex="0"><table class="fields">
<thead><tr><th scope="col">Field</th><th scope="col">Type and meaning</th></tr></thead>
<tbody>${rows.map(
  ({ name, type, required, meaning }) => html`
<tr><th scope="row"><code>${name}</code></th><td class="words"><div class="quiet">${coded(type)}${required ? ', required' : ''}</div>${coded(meaning)}</td></tr>`,
)}</tbody>
</table></div>`;

/** A text with its code, which stands between backticks. */
const coded = (text: string): Html =>
  html`${text.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
