/** The form for one container. */
import type { Problems } from '../../components/form.ts';
import { type Html, html } from '../../components/html.ts';
import { memoryInput } from '../../components/memory-input.ts';
import { field } from '../../components/pieces.ts';
import {
  EMPTY_PORT,
  LIFE_TEXTS,
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
${field({ name: 'image', label: 'Image', hint: 'An image that the hosts have, or can pull from a registry.', problems }, (it) => html`<input ${it} class="mono" value="${simple.image}" required autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="nginx:alpine">`)}
</div>
${field({ name: 'command', label: 'Command', hint: "Optional. Default: the image's own command.", problems }, (it) => html`<input ${it} class="mono" value="${simple.command}" autocomplete="off" autocapitalize="none" spellcheck="false">`)}
${resources(simple, problems)}
${portRows(simple, problems)}
${field(
  {
    name: 'environment',
    label: 'Environment',
    hint: html`One <code>NAME=value</code> per line. <code>{user_name}</code> and <code>{execution_id}</code> in values are replaced; write <code>{{user_name}}</code> for the literal text.`,
    problems,
  },
  (
    it,
  ) => html`<textarea ${it} rows="4" wrap="off" autocapitalize="none" autocomplete="off" spellcheck="false">
${simple.environment}</textarea>`,
)}
${lifeChoice(simple.life)}
${actions(html`<button class="quiet push" name="action" value="describe">Edit as JSON</button>`)}`;
  return startForm(place, body);
}

function resources({ memory, memory_unit, cores }: SimpleApplication, problems: Problems): Html {
  return html`
<div class="columns">
${field({ name: 'memory', label: 'Memory', hint: 'Reservation and limit of the container.', problems }, (it) => memoryInput(it, { name: 'memory', label: 'Memory', entry: { amount: memory, unit: memory_unit } }))}
${field({ name: 'cores', label: 'Cores', hint: 'Reservation and limit. Fractions are allowed, such as 0.5.', problems }, (it) => html`<input ${it} value="${cores}" inputmode="decimal" autocomplete="off">`)}
</div>`;
}

const lifeChoice = (life: string): Html => html`
<fieldset><legend>Type</legend>
${Object.entries(LIFE_TEXTS).map(
  ([value, text]) =>
    html`<label class="check"><input type="radio" name="life" value="${value}"${value === life ? html` checked` : ''}> ${text}</label>`,
)}
</fieldset>`;

/** The script adds and removes rows without asking the server. */
function portRows({ ports, isShared, isUnpublished }: SimpleApplication, problems: Problems): Html {
  const rows = ports.length > 0 ? ports : [EMPTY_PORT];
  return html`
<fieldset id="ports"><legend>Ports</legend>
${rows.map((port, at) => portRow(port, at, problems))}
${problems.ports ? html`<p class="problem">${problems.ports}</p>` : ''}
<button name="action" value="add-port" formnovalidate>Add port</button>
${box('publish', 'no', 'Do not publish the ports on the host', isUnpublished)}
${box('share', 'users', 'Let everybody who is logged in use the web applications', isShared)}
</fieldset>`;
}

const box = (name: string, value: string, label: string, isTicked: boolean): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="${value}"${isTicked ? html` checked` : ''}> ${label}</label>`;

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
