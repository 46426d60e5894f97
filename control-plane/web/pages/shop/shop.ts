/** The app shop: its list, its pictures, and the submission of its forms (shop-entry.ts). */
import { Hono } from 'hono';
import { etag } from 'hono/etag';
import { OperationError } from '../../../core/model/errors.ts';
import type { ShopEntry, ShopProblem } from '../../../core/shop/shop.ts';
import { file } from '../../../http/files.ts';
import {
  explainFromShop,
  getShopEntry,
  listShop,
  readPicture,
  type ShopOrder,
  startFromShop,
} from '../../../operations/shop/shop.ts';
import { pictureType } from '../../../operations/shop/shop-entries.ts';
import { fieldsOf, formOf } from '../../components/form.ts';
import { type Html, html, trusted } from '../../components/html.ts';
import { renderMarkdown } from '../../components/markdown.ts';
import { page } from '../../components/page.ts';
import { empty } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { statusOf } from '../../error-page.ts';
import { entryPage, type Filled, logo, orderOf, shopPath } from './shop-entry.ts';

export function shopPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  const readmes = new Readmes();
  routes.get('/', async (c) => {
    const { entries, problems } = await listShop(deps, c.get('actor'));
    const found = entries.length > 0 ? categories(entries) : noApplications;
    return page(c, {
      title: 'App shop',
      scripts: ['shop'],
      body: html`
<div class="bar"><h1>App shop</h1>${entries.length > 1 ? search : ''}</div>
${found}
${problems.length > 0 ? problemsTable(problems) : ''}`,
    });
  });
  for (const path of ['/:id/logo', '/:id/files/:name']) routes.use(path, etag());
  routes.get('/:id/logo', (c) => picture(c, deps, c.req.param('id')));
  routes.get('/:id/files/:name', (c) => picture(c, deps, c.req.param('id'), c.req.param('name')));
  routes.get('/:id', async (c) => {
    const { entry } = await getShopEntry(deps, c.get('actor'), c.req.param('id'));
    return entryPage(c, deps, entry, {}, await readmes.of(entry));
  });
  routes.post('/:id', async (c) => {
    const form = await formOf(c);
    const { entry } = await getShopEntry(deps, c.get('actor'), c.req.param('id'));
    const order = orderOf(form, entry, c.get('account').role);
    const filled =
      form.get('do') === 'explain'
        ? await explain(c, deps, entry, order)
        : await start(c, deps, entry, order);
    return filled instanceof Response
      ? filled
      : entryPage(c, deps, entry, { fields: fieldsOf(form), ...filled }, await readmes.of(entry));
  });
  return routes;
}

async function start(
  c: WebContext,
  deps: WebDeps,
  { id }: ShopEntry,
  order: ShopOrder,
): Promise<Response | Filled> {
  try {
    const started = await startFromShop(deps, c.get('actor'), id, order, deps.overQuota);
    return 'problems' in started ? started : c.redirect(`/executions/${started.executionId}`, 303);
  } catch (error) {
    return refusal(error);
  }
}

async function explain(c: WebContext, deps: WebDeps, { id }: ShopEntry, order: ShopOrder): Promise<Filled> {
  try {
    return await explainFromShop(deps, c.get('actor'), id, order);
  } catch (error) {
    return refusal(error);
  }
}

/** Keeps the form for refusals that may pass: the quota, or no coordinator. */
function refusal(error: unknown): Filled {
  const isPassing = error instanceof OperationError && ['conflict', 'unavailable'].includes(error.code);
  if (!isPassing) throw error;
  return { problems: [{ parameter: null, message: error.message }], status: statusOf(error) };
}

/**
 * Serves an untrusted picture under a policy that runs nothing, even if it is opened by itself (SVG may
 * contain scripts).
 */
async function picture(c: WebContext, deps: WebDeps, id: string, name?: string): Promise<Response> {
  const { type, content } = await readPicture(deps, c.get('actor'), id, name);
  return file(content, type, {
    'cache-control': 'private, no-cache',
    'content-security-policy': "sandbox; default-src 'none'",
  });
}

function categories(entries: readonly ShopEntry[]): Html {
  const names = [...new Set(entries.map(({ category }) => category))];
  return html`${names.map(
    (name) => html`
<section class="category">
<h2>${name}</h2>
<ul class="grid plain">${entries.filter(({ category }) => category === name).map(card)}</ul>
</section>`,
  )}<p id="found" role="status" class="quiet"></p>`;
}

const card = (entry: ShopEntry): Html => html`
<li class="card shop-item">
${logo(entry)}
<div><h3><a href="${shopPath(entry.id)}">${entry.name}</a></h3><p class="quiet">${summaryOf(entry.readme)}</p></div>
</li>`;

/** By browser/shop.ts. */
const search = html`<input type="search" id="find" class="scripted" placeholder="Find an application" aria-label="Find an application" autocomplete="off">`;

const noApplications = empty(
  'No applications available',
  html`<p>You can <a href="/start">start an application of your own</a>.</p>`,
);

const problemsTable = (problems: readonly ShopProblem[]): Html => html`
<section class="card">
<h2>Problems in the app shop</h2>
<p class="quiet">Only users who may change the configuration see this.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Location</th><th scope="col">Problem</th></tr></thead>
<tbody>${problems.map(({ where, reason }) => html`<tr><th scope="row">${where}</th><td>${reason}</td></tr>`)}</tbody>
</table></div>
</section>`;

const MAX_SUMMARY_LENGTH = 160;
const MAX_README_LENGTH = 4_000;

/** The first paragraph of a Markdown text, roughly as plain text. */
function summaryOf(readme: string): string {
  const blocks = readme.slice(0, MAX_README_LENGTH).split(/\n\s*\n/);
  const paragraph = blocks.find((block) => /^\s{0,3}[\p{L}\p{N}"'*_`]/u.test(block)) ?? '';
  const text = paragraph
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_`]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return text.length > MAX_SUMMARY_LENGTH ? `${text.slice(0, MAX_SUMMARY_LENGTH - 1).trimEnd()}…` : text;
}

const MAX_CACHED = 200;
/** In characters. A longer text is shown unrendered: some Markdown takes seconds per page. */
const MAX_RENDERED_LENGTH = 64 * 1024;

/**
 * Caches the rendered texts of applications by their content, because rendering a long one takes noticeable
 * time.
 */
class Readmes {
  /** By id, most recently used last. */
  readonly #cache = new Map<string, { readme: string; rendered: Html }>();

  async of(entry: ShopEntry): Promise<Html> {
    const { id, readme } = entry;
    const cached = this.#cache.get(id);
    const rendered = cached?.readme === readme ? cached.rendered : await render(entry);
    this.#cache.delete(id);
    this.#cache.set(id, { readme, rendered });
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= MAX_CACHED) break;
      this.#cache.delete(oldest);
    }
    return rendered;
  }
}

async function render(entry: ShopEntry): Promise<Html> {
  if (entry.readme.length > MAX_RENDERED_LENGTH) return html`<pre tabindex="0">${entry.readme}</pre>`;
  const files = `${shopPath(entry.id)}/files/`;
  const pictureUrl = (name: string) => (pictureType(name) ? files + encodeURIComponent(name) : undefined);
  return trusted(await renderMarkdown(withoutTitle(entry), { pictureUrl }));
}

/** Removes a title that repeats the name, which the page already shows. */
function withoutTitle({ readme, name }: ShopEntry): string {
  const [, title, rest = ''] = /^\s*#[ \t]+(\S[^\n]*)\n([\s\S]*)$/.exec(readme) ?? [];
  return title?.trim().toLowerCase() === name.toLowerCase() ? rest : readme;
}
