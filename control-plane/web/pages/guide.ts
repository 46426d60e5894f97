/** Pages of the documents that come with this version of Berth. */
import { Hono } from 'hono';
import { OperationError } from '../../core/model/errors.ts';
import { isMissing } from '../../http/files.ts';
import { type Html, html, trusted } from '../components/html.ts';
import { renderMarkdown } from '../components/markdown.ts';
import { page } from '../components/page.ts';
import type { WebDeps, WebEnv } from '../context.ts';

export const GUIDE_PATH = '/guide';
const USER_GUIDE = 'user-guide';
const NAME = /^[a-z]+(-[a-z]+)*$/;

interface Guide {
  title: string;
  text: Html;
}

export function guidePages({ guideFile }: Pick<WebDeps, 'guideFile'>): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  /** Each is rendered once, since a long one takes a quarter of a second. The names are those of files. */
  const rendered = new Map<string, Guide>();
  routes.get('/', (c) => c.redirect(`${GUIDE_PATH}/${USER_GUIDE}`, 303));
  routes.get('/:name', async (c) => {
    const name = c.req.param('name');
    const guide = rendered.get(name) ?? (NAME.test(name) ? await readGuide(guideFile, name) : undefined);
    if (!guide) throw new OperationError('not-found', `There is no ${c.req.path} here.`);
    rendered.set(name, guide);
    const body = html`<h1>${guide.title}</h1>\n<div class="readme">${guide.text}</div>`;
    return page(c, { title: guide.title, body });
  });
  return routes;
}

/** Undefined if there is no such document. */
async function readGuide(guideFile: WebDeps['guideFile'], name: string): Promise<Guide | undefined> {
  const bytes = await guideFile(`${name}.md`).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  const [, title = name, rest = ''] = /^# ([^\n]+)\n([\s\S]*)$/.exec(new TextDecoder().decode(bytes)) ?? [];
  const options = { pictureUrl: () => undefined, linkUrl, hasAnchors: true };
  return { title, text: trusted(await renderMarkdown(rest, options)) };
}

/** Documents link to others in their own folder. */
function linkUrl(target: string): string | undefined {
  const [, name, place = ''] = /^([a-z-]+)\.md(#[\w-]+)?$/.exec(target) ?? [];
  return name === undefined ? undefined : `${GUIDE_PATH}/${name}${place}`;
}
