/** The part of a user's page that links the user to who it is at a provider, and unlinks it (W194). */
import type { Hono } from 'hono';
import * as z from 'zod';
import type { User } from '../../../core/accounts/account.ts';
import type { Identity } from '../../../core/accounts/sign-on.ts';
import { subject } from '../../../http/accounts/users.ts';
import { updateUser } from '../../../operations/accounts/users.ts';
import { type Entry, handleForm } from '../../components/form-entry.ts';
import { type Html, html } from '../../components/html.ts';
import { redirectWith } from '../../components/notice.ts';
import { field } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';

/** A user, and who it is at a provider; null if it is linked to nobody. */
export type LinkedUser = User & { identity: Identity | null };

const fields = z.object({ subject });

export function signOnPart(
  { id, username, identity }: LinkedUser,
  provider: string | undefined,
  { problems }: Entry,
): Html | '' {
  if (identity)
    return html`
<h2>Sign-on</h2>
<form class="card" method="post" action="/admin/users/${id}/unlink">
<p>${username} is the subject <code>${identity.subject}</code> of <code>${identity.issuer}</code>.</p>
<p>Unlinked, ${username} can log in only after you set a password. This ends all sessions and personal access tokens of ${username}.</p>
<button class="danger">Unlink ${username}</button>
</form>`;
  if (provider === undefined) return '';
  return html`
<h2>Sign-on</h2>
<form class="card half" method="post" action="/admin/users/${id}/link">
<p>Linked, ${username} signs on by ${provider} and no longer by a password. This ends all sessions of ${username}.</p>
${field({ name: 'subject', label: 'Subject', hint: `Who ${username} is at ${provider}: the claim sub. Whoever signs on without a user is shown it.`, problems }, (it) => html`<input ${it} autocomplete="off" autocapitalize="none" spellcheck="false" required>`)}
<button>Link ${username}</button>
</form>`;
}

/** `show` renders the page of the user again. */
export function addSignOnRoutes(
  routes: Hono<WebEnv>,
  deps: WebDeps,
  userIn: (c: WebContext) => Promise<LinkedUser>,
  show: (c: WebContext, user: LinkedUser, entry: Entry) => Promise<Response>,
): void {
  const change = async <Value>(
    c: WebContext,
    schema: z.ZodType<Value>,
    changeOf: (value: Value) => { subject: string | null },
    done: (name: string) => string,
  ) => {
    const user = await userIn(c);
    return handleForm(
      c,
      schema,
      (entry) => show(c, user, entry),
      async (value) => {
        await updateUser(deps, c.get('actor'), user.id, async () => changeOf(value));
        return redirectWith(c, `/admin/users/${user.id}`, { kind: 'done', text: done(user.username) });
      },
    );
  };
  routes.post('/:id/link', (c) =>
    change(
      c,
      fields,
      (value) => value,
      (name) => `${name} was linked.`,
    ),
  );
  routes.post('/:id/unlink', (c) =>
    change(
      c,
      z.object({}),
      () => ({ subject: null }),
      (name) => `${name} was unlinked. Set a password, or ${name} can't log in.`,
    ),
  );
}
