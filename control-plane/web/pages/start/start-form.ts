/** Owns the form for the common case: one container. */
import type { Problems } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { field } from '../../components/pieces.ts';
import {
  EMPTY_PORT,
  MEMORY_UNITS,
  PORT_KINDS,
  type SimpleApplication,
  type SimplePort,
} from '../../description/simple-application.ts';
import { actions, type FormPlace, sentence, startForm } from './start-frame.ts';

export interface SimpleForm {
  simple: SimpleApplication;
  problems?: Problems | undefined;
}

export function simpleForm(place: FormPlace, { simple, problems: found = {} }: SimpleForm): Html {
  const problems = Object.fromEntries(Object.entries(found).map(([name, text]) => [name, sentence(text)]));
  const body = html`
${problems.form ? html`<p class="notice failed" role="alert">${problems.form}</p>` : ''}
<div class="columns">
${field({ name: 'name', label: 'Name', problems }, (it) => html`<input ${it} value="${simple.name}" required maxlength="128" autocomplete="off">`)}
${field({ name: 'image', label: 'Image', hint: 'As the engine knows it, or from a registry it can reach.', problems }, (it) => html`<input ${it} class="mono" value="${simple.image}" required autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="nginx:alpine">`)}
</div>
${field({ name: 'command', label: 'Command', hint: "Left empty: the image's own.", problems }, (it) => html`<input ${it} class="mono" value="${simple.command}" autocomplete="off" autocapitalize="none" spellcheck="false">`)}
${resources(simple, problems)}
${portRows(simple.ports, problems)}
${field(
  {
    name: 'environment',
    label: 'Environment',
    hint: html`A line for each: <code>NAME=value</code>. In values, <code>{user_name}</code> and <code>{execution_id}</code> are filled in; write <code>{{user_name}}</code> for the text itself.`,
    problems,
  },
  (
    it,
  ) => html`<textarea ${it} rows="4" wrap="off" autocapitalize="none" autocomplete="off" spellcheck="false">
${simple.environment}</textarea>`,
)}
${lifeChoice(simple.life)}
${actions(html`<button class="quiet push" name="action" value="describe">Edit as description</button>`)}`;
  return startForm(place, body);
}

function resources({ memory, memory_unit, cores }: SimpleApplication, problems: Problems): Html {
  const units = Object.keys(MEMORY_UNITS).map(
    (unit) => html`<option${unit === memory_unit ? html` selected` : ''}>${unit}</option>`,
  );
  return html`
<div class="columns">
${field({ name: 'memory', label: 'Memory', hint: 'Reserved for it, and the most it gets.', problems }, (it) => html`<div class="joined"><input ${it} value="${memory}" inputmode="decimal" autocomplete="off"><select name="memory_unit" aria-label="Unit of memory">${units}</select></div>`)}
${field({ name: 'cores', label: 'Cores', hint: 'Parts are possible: 0.5.', problems }, (it) => html`<input ${it} value="${cores}" inputmode="decimal" autocomplete="off">`)}
</div>`;
}

const lifeChoice = (life: string): Html => html`
<fieldset><legend>It is</legend>
${[
  ['ends', 'a job, which ends by itself'],
  ['stays', 'a server, which runs until somebody terminates it'],
].map(
  ([value, text]) =>
    html`<label class="check"><input type="radio" name="life" value="${value}"${value === life ? html` checked` : ''}> ${text}</label>`,
)}
</fieldset>`;

/** The script adds and removes rows without asking the server. */
function portRows(ports: readonly SimplePort[], problems: Problems): Html {
  const rows = ports.length > 0 ? ports : [EMPTY_PORT];
  return html`
<fieldset id="ports"><legend>Ports</legend>
${rows.map((port, at) => portRow(port, at, problems))}
${problems.ports ? html`<p class="problem">${problems.ports}</p>` : ''}
<button name="action" value="add-port" formnovalidate>Add a port</button>
</fieldset>`;
}

function portRow({ name, number, kind }: SimplePort, at: number, problems: Problems): Html {
  const labelled = (part: string, label: string, control: (attributes: Html) => Html) =>
    field({ name: `port_${part}-${at}`, label, problems }, (it) => control(it));
  const kinds = Object.keys(PORT_KINDS).map(
    (one) => html`<option${one === kind ? html` selected` : ''}>${one}</option>`,
  );
  return html`
<div class="row" data-row role="group" aria-label="Port ${at + 1}">
${labelled('number', 'Number', (it) => html`<input ${it} value="${number}" inputmode="numeric" autocomplete="off" placeholder="8080">`)}
${labelled('kind', 'Protocol', (it) => html`<select ${it}>${kinds}</select>`)}
${labelled('name', 'Name', (it) => html`<input ${it} value="${name}" maxlength="128" autocomplete="off" placeholder="Web page">`)}
<button class="quiet" name="action" value="remove-port-${at}" formnovalidate>Remove<span class="unseen"> port ${at + 1}</span></button>
</div>`;
}
