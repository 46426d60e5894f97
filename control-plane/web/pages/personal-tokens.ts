/** The pages of a user's own personal access tokens: their list, and a new one, which is shown once. */
import { Hono } from 'hono';
import * as z from 'zod';
import type { Scope } from '../../core/accounts/account.ts';
import { defaultDays, type PersonalToken } from '../../core/accounts/personal-token.ts';
import { OIDC_SOURCE } from '../../core/accounts/sign-on.ts';
import { count } from '../../core/model/text.ts';
import { personalTokenFields } from '../../http/json/personal-token-schemas.ts';
import { pathId } from '../../http/request.ts';
import {
  createPersonalToken,
  listPersonalTokens,
  type NewPersonalToken,
  revokePersonalToken,
} from '../../operations/accounts/personal-tokens.ts';
import { type Entry, handleForm } from '../components/form-entry.ts';
import { type Html, html } from '../components/html.ts';
import { redirectAfter } from '../components/notice.ts';
import { page } from '../components/page.ts';
import { ago, alert, checkbox, crumbs, empty, facts, field, timeOf } from '../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';

const PATH = '/account/tokens';
const DAY_MS = 86_400_000;

/** Every token may read as well. */
const SCOPES: readonly (readonly [scope: Scope, label: string, hint: string])[] = [
  ['submit', 'Submit', 'Submit executions, and terminate and delete them.'],
  ['operate', 'Operate', 'Drain and remove hosts, and make join tokens.'],
  ['admin', 'Administer', 'Manage users, roles and quotas, and so gain every other right.'],
];
/** Scopes that only administrators can use. */
const OF_ADMINISTRATORS: readonly Scope[] = ['operate', 'admin'];

const { expires_days } = personalTokenFields.shape;

const fieldsWith = (present: z.ZodType<string | undefined>) =>
  z
    .object({
      name: personalTokenFields.shape.name,
      days: z
        .string()
        .transform((text) => (text.trim() === '' ? null : Number(text)))
        .pipe(expires_days.unwrap()),
      present,
      ...(Object.fromEntries(SCOPES.map(([scope]) => [scope, z.string().optional()])) as Record<
        Scope,
        z.ZodOptional<z.ZodString>
      >),
    })
    .transform(({ name, days, present, ...chosen }) => {
      const scopes = SCOPES.flatMap(([scope]) => (chosen[scope] === undefined ? [] : [scope]));
      return {
        name,
        expiresDays: days,
        currentPassword: present,
        scopes: scopes.length > 0 ? scopes : (['read'] as const),
      };
    });

const fields = fieldsWith(z.string().min(1, 'is required'));
/** For users who sign on, and have no password. */
const fieldsOfSignOn = fieldsWith(z.string().optional());

const signsOn = (c: WebContext): boolean => c.get('account').user.authSource === OIDC_SOURCE;

export function personalTokenPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', (c) => tokensPage(deps, c));
  // No redirect: the token appears on this response only, and can't be shown again.
  routes.post('/', (c) =>
    handleForm(
      c,
      signsOn(c) ? fieldsOfSignOn : fields,
      (entry) => tokensPage(deps, c, entry),
      async (value) => {
        const { authentication, personalTokenRules: rules, addressOf } = deps;
        const making = { tokens: authentication.personalTokens, rules };
        const confirm = (username: string, password: string) =>
          authentication.confirm(username, password, () => addressOf(c));
        const made = await createPersonalToken(deps, making, c.get('actor'), async () => value, confirm);
        return tokenPage(c, value.name, made);
      },
    ),
  );
  routes.post('/:id/revoke', (c) =>
    redirectAfter(c, PATH, 'The token was revoked.', () =>
      revokePersonalToken(deps, c.get('actor'), pathId(c, 'id')),
    ),
  );
  return routes;
}

async function tokensPage(deps: WebDeps, c: WebContext, entry?: Entry): Promise<Response> {
  const tokens = await listPersonalTokens(deps, c.get('actor'), async () => ({}));
  return page(c, {
    title: 'Personal access tokens',
    status: entry?.status ?? 200,
    body: html`
${crumbs([['/account', 'Your account']])}
<h1>Personal access tokens</h1>
<p>With a token, a program acts for you without your password. It does no more than its scopes and your role allow.</p>
${tokens.length === 0 ? empty('You have no tokens', html`<p>Create one for each program, so that you can revoke them one by one.</p>`) : listOf(tokens, c.get('nowMs'))}
${form(deps, c, entry ?? { values: { submit: 'on' } })}`,
  });
}

const listOf = (tokens: readonly PersonalToken[], nowMs: number): Html => html`
<div class="scroll"><table>
<thead><tr><th scope="col">Name</th><th scope="col">Scopes</th><th scope="col">Created</th><th scope="col">Last used</th><th scope="col">Expires</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
<tbody>${tokens.map(
  ({ id, name, scopes, madeMs, usedMs, expiresMs }) => html`
<tr><th scope="row">${name}</th>
<td>${scopes.join(', ')}</td>
<td>${ago(madeMs, nowMs)}</td>
<td>${ago(usedMs, nowMs) || 'never'}</td>
<td>${expiryText(expiresMs, nowMs)}</td>
<td><form method="post" action="${PATH}/${id}/revoke"><button class="danger" aria-label="Revoke ${name}" data-confirm="Revoke this token? Programs that use it stop working.">Revoke</button></form></td></tr>`,
)}</tbody>
</table></div>`;

function expiryText(expiresMs: number | null, nowMs: number): Html | string {
  if (expiresMs === null) return 'never';
  return expiresMs <= nowMs ? 'has expired' : timeOf(expiresMs);
}

function form(
  { personalTokenRules, signOn }: WebDeps,
  c: WebContext,
  { values, problems, refused }: Entry,
): Html {
  const { canChangeConfig } = c.get('account').role;
  const { maxDays } = personalTokenRules;
  const offered = SCOPES.filter(([scope]) => canChangeConfig || !OF_ADMINISTRATORS.includes(scope));
  return html`
<h2>New token</h2>
<form class="card" method="post" action="${PATH}">
${alert(refused)}
<div class="columns">
${field({ name: 'name', label: 'Name', hint: 'For example the program that will use it.', problems }, (it) => html`<input ${it} value="${values.name ?? ''}" autocomplete="off" required>`)}
${field(
  {
    name: 'days',
    label: 'Days',
    hint: maxDays === 0 ? 'Empty: it never expires.' : `At most ${maxDays}.`,
    problems,
  },
  (it) =>
    html`<input ${it} value="${values.days ?? String(defaultDays(personalTokenRules))}" inputmode="numeric" autocomplete="off">`,
)}
</div>
<p>It may read whatever you may read, and:</p>
${offered.map(([scope, label, hint]) => checkbox(scope, label, values[scope] !== undefined, hint))}
${
  signsOn(c)
    ? html`<p class="hint">You must have signed on within the last 10 minutes. The token works for ${count((signOn?.tokensMs ?? 0) / DAY_MS, 'day')} after each sign-on.</p>`
    : field(
        { name: 'present', label: 'Your password', problems },
        (it) => html`<input ${it} type="password" autocomplete="current-password" required>`,
      )
}
<button class="primary">Create token</button>
</form>`;
}

const tokenPage = (c: WebContext, name: string, { token, expiresMs }: NewPersonalToken): Promise<Response> =>
  page(c, {
    title: 'New personal access token',
    body: html`
${crumbs([
  ['/account', 'Your account'],
  [PATH, 'Personal access tokens'],
])}
<h1>New personal access token</h1>
<p class="notice waits">Copy the token now: it is not shown again. Whoever has it acts for you.</p>
<div class="card">
<pre id="token" tabindex="0">${token}</pre>
<p class="bar"><button type="button" class="scripted" data-copy="token">Copy token</button></p>
${facts([
  ['Name', name],
  ['Expires', expiresMs === null ? 'never' : timeOf(expiresMs)],
])}
</div>
<p><a href="${PATH}">Back to your tokens</a></p>`,
  });
