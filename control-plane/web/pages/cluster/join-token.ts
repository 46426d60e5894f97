/** The page that creates a join token and shows it once, with the command that installs the agent. */
import { Hono } from 'hono';
import * as z from 'zod';
import { authorise } from '../../../core/accounts/account.ts';
import { type InstallInstructions, installInstructions } from '../../../http/install.ts';
import { joinTokenFields } from '../../../http/json/request-schemas.ts';
import { createJoinToken, type NewJoinToken } from '../../../operations/cluster/join-tokens.ts';
import { type Entry, handleForm } from '../../components/form-entry.ts';
import { html } from '../../components/html.ts';
import { page } from '../../components/page.ts';
import { alert, crumbs, facts, field, timeOf } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { labelsIn } from './host.ts';

const fields = z.object({
  name: z
    .string()
    .transform((text) => text.trim() || undefined)
    .pipe(joinTokenFields.shape.name),
  labels: z.string().transform(labelsIn).pipe(joinTokenFields.shape.labels.unwrap()),
});

export function joinPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.use(async (c, next) => {
    authorise(c.get('actor'), { kind: 'operate-hosts' });
    await next();
  });
  routes.get('/', (c) => formPage(c, { values: {} }));
  // No redirect: the token appears on this response only, and can't be shown again.
  routes.post('/', (c) =>
    handleForm(
      c,
      fields,
      (entry) => formPage(c, entry),
      async (value) => {
        const created = await createJoinToken(deps, c.get('actor'), async () => value);
        return tokenPage(c, created, await installInstructions(c, { ...value, ...created }, deps));
      },
    ),
  );
  return routes;
}

const formPage = (c: WebContext, { values, problems, refused, status = 200 }: Entry): Promise<Response> =>
  page(c, {
    title: 'Add a host',
    status,
    body: html`
${crumbs([['/cluster', 'Cluster']])}
<h1>Add a host</h1>
<form class="card" method="post" action="/cluster/join">
${alert(refused)}
<p>A host needs Linux, Docker, and Node.js 20.11 or newer. It joins with a token, which is valid for one host and one hour.</p>
<div class="columns">
${field(
  {
    name: 'name',
    label: 'Name',
    hint: 'Optional. If set, only a host with this name can use the token.',
    problems,
  },
  (it) => html`<input ${it} value="${values.name ?? ''}" autocapitalize="none" spellcheck="false">`,
)}
${field(
  {
    name: 'labels',
    label: 'Labels',
    hint: "Optional. Separated by spaces, added to the agent's own.",
    problems,
  },
  (it) => html`<input ${it} value="${values.labels ?? ''}" autocapitalize="none" spellcheck="false">`,
)}
</div>
<button class="primary">Create join token</button>
</form>`,
  });

const tokenPage = (
  c: WebContext,
  { token, expiresMs }: NewJoinToken,
  { checksum, line, warning }: InstallInstructions,
): Promise<Response> => {
  return page(c, {
    title: 'Join token',
    body: html`
${crumbs([['/cluster', 'Cluster']])}
<h1>Join token</h1>
<p class="notice waits">Copy the command now: the token is not shown again. Anyone who has it can add one host.</p>
${warning ? html`<p class="notice failed" role="alert">${warning}</p>` : ''}
<div class="card">
${
  line
    ? html`<h2>Run on the host, as root</h2>
<pre id="install" tabindex="0">${line}</pre>
<p class="bar"><button type="button" class="scripted" data-copy="install">Copy command</button></p>`
    : html`<p>Run on the host, as root, with BERTH_URL and BERTH_JOIN_TOKEN in the environment: <code>npm run agent join</code>.</p>`
}
${facts([
  ['Token', html`<code id="token">${token}</code>`],
  ['Checksum of the agent', html`<code>${checksum}</code>`],
  ['Valid until', timeOf(expiresMs)],
])}
</div>
<p><a href="/cluster">Back to cluster</a>: the host appears there once it has joined. <a href="/cluster/join">Create another token</a></p>`,
  });
};
