/** The pages of secrets and files: lists, and forms that set them. No page has a value. */
import { Hono } from 'hono';
import * as z from 'zod';
import {
  MAX_FILE_BYTES,
  noSecretKey,
  type Secret,
  type SecretKind,
  type StoredKind,
  secretKinds,
} from '../../core/accounts/secret.ts';
import { fileName, secretFields, secretName } from '../../http/json/secret-schemas.ts';
import { pathId } from '../../http/request.ts';
import { listCredentials } from '../../operations/secrets/registries.ts';
import { listSecrets, removeSecret, type SecretInput, setSecret } from '../../operations/secrets/secrets.ts';
import { type Entry, handleForm } from '../components/form-entry.ts';
import { type Html, html } from '../components/html.ts';
import { redirectAfter, redirectWith } from '../components/notice.ts';
import { page } from '../components/page.ts';
import { ago, alert, checkbox, crumbs, field } from '../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';
import { addRegistryForms, registrySection } from './registries.ts';

const PATH = '/account/secrets';

/** A file is typed as text here; the command line sets any file. */
const fileText = z
  .string()
  .min(1, 'is required')
  .transform((text) => new TextEncoder().encode(text))
  .refine((bytes) => bytes.length <= MAX_FILE_BYTES, `must have at most ${MAX_FILE_BYTES} bytes`);

const checked = z.string().optional();
/** The forms are on one page, so that each has names of its own. */
const fields = {
  secret: z
    .object({ secret_name: secretName, secret_value: secretFields.secret.shape.value, secret_all: checked })
    .transform((typed) => inputOf(typed.secret_name, typed.secret_value, typed.secret_all)),
  file: z
    .object({ file_name: fileName, file_value: fileText, file_all: checked })
    .transform((typed) => inputOf(typed.file_name, typed.file_value, typed.file_all)),
} as const;

const inputOf = (name: string, value: Uint8Array, all: string | undefined): SecretInput => ({
  name,
  value,
  isOfAll: all !== undefined,
});

const ABOUT: Readonly<Record<SecretKind, string>> = {
  secret: 'Descriptions use a secret in the environment of a service, as {secret#NAME}.',
  file: 'Descriptions mount a file into a container, by an entry of "files" with its name and a path.',
};

export function secretPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', (c) => secretsPage(deps, c));
  for (const kind of secretKinds) {
    routes.post(`/${kind}`, (c) =>
      handleForm(
        c,
        fields[kind],
        (entry) => secretsPage(deps, c, kind, entry),
        async (input) => {
          await setSecret(deps, c.get('actor'), kind, async () => input);
          return redirectWith(c, PATH, { kind: 'done', text: `The ${kind} ${input.name} was set.` });
        },
      ),
    );
    routes.post(`/${kind}/:id/remove`, (c) =>
      redirectAfter(c, PATH, `The ${kind} was removed.`, () =>
        removeSecret(deps, c.get('actor'), kind, pathId(c, 'id')),
      ),
    );
  }
  addRegistryForms(routes, deps, PATH, (c, entry) => secretsPage(deps, c, 'registry', entry));
  return routes;
}

/** `entry`: of the form for this kind. What was typed as its value is not shown again. */
async function secretsPage(
  deps: WebDeps,
  c: WebContext,
  kind?: StoredKind,
  entry?: Entry,
): Promise<Response> {
  const actor = c.get('actor');
  const [registries, ...lists] = await Promise.all([
    listCredentials(deps, actor),
    ...secretKinds.map((one) => listSecrets(deps, actor, one)),
  ]);
  // Without a key nothing that is typed could be kept.
  const canSet = deps.seal.keyIds.length > 0;
  const formOf = (one: StoredKind): Entry => (one === kind && entry) || { values: {} };
  return page(c, {
    title: 'Secrets, files and registries',
    status: entry?.status ?? 200,
    body: html`
${crumbs([['/account', 'Your account']])}
<h1>Secrets, files and registries</h1>
<p>Nobody can read a value again. It is stored encrypted, and only the hosts of services that use it get it.</p>
${canSet ? '' : alert(noSecretKey().message)}
${secretKinds.map((one, at) => section(c, one, lists[at] ?? [], canSet && formOf(one)))}
${registrySection(c, PATH, registries, canSet && formOf('registry'))}`,
  });
}

/** `entry`: of the form, if there is one. */
const section = (
  c: WebContext,
  kind: SecretKind,
  secrets: readonly Secret[],
  entry: Entry | false,
): Html => html`
<section><h2>${kind === 'secret' ? 'Secrets' : 'Files'}</h2>
<p>${ABOUT[kind]}</p>
${secrets.length === 0 ? html`<p class="quiet">There are none yet.</p>` : listOf(c, kind, secrets)}
${entry && form(c, kind, entry)}
</section>`;

function listOf(c: WebContext, kind: SecretKind, secrets: readonly Secret[]): Html {
  const { canChangeConfig } = c.get('account').role;
  return html`
<div class="scroll"><table>
<thead><tr><th scope="col">Name</th><th scope="col">For</th><th scope="col">Bytes</th><th scope="col">Set</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
<tbody>${secrets.map(
    ({ id, name, userId, bytes, setMs }) => html`
<tr><th scope="row">${name}</th>
<td>${userId === null ? 'all users' : 'you'}</td>
<td>${bytes}</td>
<td>${ago(setMs, c.get('nowMs'))}</td>
<td>${userId === null && !canChangeConfig ? '' : html`<form method="post" action="${PATH}/${kind}/${id}/remove"><button class="danger" aria-label="Remove ${kind} ${name}" data-confirm="Remove it? Services that use it can't start any more.">Remove</button></form>`}</td></tr>`,
  )}</tbody>
</table></div>`;
}

function form(c: WebContext, kind: SecretKind, { values, problems, refused }: Entry): Html {
  const { canChangeConfig } = c.get('account').role;
  const [name, value] = [`${kind}_name`, `${kind}_value`];
  return html`
<h3>Set a ${kind}</h3>
<form class="card" method="post" action="${PATH}/${kind}">
${alert(refused)}
${field({ name, label: 'Name', hint: 'One that exists gets the new value.', problems }, (it) => html`<input ${it} value="${values[name] ?? ''}" autocomplete="off" required>`)}
${field({ name: value, label: kind === 'secret' ? 'Value' : 'Content', problems }, (it) =>
  kind === 'secret'
    ? html`<input ${it} type="password" autocomplete="new-password" required>`
    : html`<textarea ${it} rows="6" autocomplete="off" spellcheck="false" required></textarea>`,
)}
${canChangeConfig ? checkbox(`${kind}_all`, 'For all users', false) : ''}
<button class="primary">Set ${kind}</button>
</form>`;
}
