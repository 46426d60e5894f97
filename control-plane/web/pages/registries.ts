/** The part of the page of secrets that has credentials of registries. It has no password. */
import type { Hono } from 'hono';
import * as z from 'zod';
import type { Secret } from '../../core/accounts/secret.ts';
import { registryName, registryPassword, registryUser } from '../../http/json/secret-schemas.ts';
import { pathId } from '../../http/request.ts';
import { removeCredentials, setCredentials } from '../../operations/secrets/registries.ts';
import { type Entry, handleForm } from '../components/form-entry.ts';
import { type Html, html } from '../components/html.ts';
import { redirectAfter, redirectWith } from '../components/notice.ts';
import { ago, alert, checkbox, field } from '../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';

const fields = z
  .object({
    registry_name: registryName,
    registry_user: registryUser,
    registry_password: registryPassword,
    registry_all: z.string().optional(),
  })
  .transform((typed) => ({
    registry: typed.registry_name,
    username: typed.registry_user,
    password: typed.registry_password,
    isOfAll: typed.registry_all !== undefined,
  }));

/** Adds the routes of the forms. `again`: the page, with what was typed. */
export function addRegistryForms(
  routes: Hono<WebEnv>,
  deps: WebDeps,
  path: string,
  again: (c: WebContext, entry: Entry) => Promise<Response>,
): void {
  routes.post('/registry', (c) =>
    handleForm(
      c,
      fields,
      (entry) => again(c, entry),
      async (input) => {
        await setCredentials(deps, c.get('actor'), async () => input);
        return redirectWith(c, path, {
          kind: 'done',
          text: `The credentials for ${input.registry} were set.`,
        });
      },
    ),
  );
  routes.post('/registry/:id/remove', (c) =>
    redirectAfter(c, path, 'The credentials were removed.', () =>
      removeCredentials(deps, c.get('actor'), pathId(c, 'id')),
    ),
  );
}

/** `entry`: of the form, if there is one. */
export const registrySection = (
  c: WebContext,
  path: string,
  all: readonly Secret[],
  entry: Entry | false,
): Html => html`
<section><h2>Registries</h2>
<p>Your services pull their images with these credentials, each at the host of its registry only. What they bring is not there for other users.</p>
${all.length === 0 ? html`<p class="quiet">There are none yet.</p>` : listOf(c, path, all)}
${entry && form(c, path, entry)}
</section>`;

function listOf(c: WebContext, path: string, all: readonly Secret[]): Html {
  const { canChangeConfig } = c.get('account').role;
  return html`
<div class="scroll"><table>
<thead><tr><th scope="col">Registry</th><th scope="col">For</th><th scope="col">Set</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
<tbody>${all.map(
    ({ id, name, userId, setMs }) => html`
<tr><th scope="row">${name}</th>
<td>${userId === null ? 'all users' : 'you'}</td>
<td>${ago(setMs, c.get('nowMs'))}</td>
<td>${userId === null && !canChangeConfig ? '' : html`<form method="post" action="${path}/registry/${id}/remove"><button class="danger" aria-label="Remove the credentials for ${name}" data-confirm="Remove them? Services whose images need them can't start any more.">Remove</button></form>`}</td></tr>`,
  )}</tbody>
</table></div>`;
}

function form(c: WebContext, path: string, { values, problems, refused }: Entry): Html {
  const { canChangeConfig } = c.get('account').role;
  return html`
<h3>Set the credentials for a registry</h3>
<form class="card" method="post" action="${path}/registry">
${alert(refused)}
${field({ name: 'registry_name', label: 'Registry', hint: 'Its host as image names have it, with its port; docker.io for Docker Hub.', problems }, (it) => html`<input ${it} value="${values.registry_name ?? ''}" autocomplete="off" spellcheck="false" required>`)}
${field({ name: 'registry_user', label: 'User name', problems }, (it) => html`<input ${it} value="${values.registry_user ?? ''}" autocomplete="off" spellcheck="false" required>`)}
${field({ name: 'registry_password', label: 'Password or token', problems }, (it) => html`<input ${it} type="password" autocomplete="new-password" required>`)}
${canChangeConfig ? checkbox('registry_all', 'For all users', false) : ''}
<button class="primary">Set credentials</button>
</form>`;
}
