/**
 * Caches the rendered texts of shop applications by their content, because rendering a long one takes
 * noticeable time.
 */
import type { ShopEntry } from '../../../core/shop/shop.ts';
import { pictureType } from '../../../operations/shop/shop-entries.ts';
import { type Html, html, trusted } from '../../components/html.ts';
import { renderMarkdown } from '../../components/markdown.ts';
import { shopPath } from './shop-entry.ts';

const MAX_CACHED = 200;
/** In characters. A longer text is shown unrendered: some Markdown takes seconds per page. */
const MAX_RENDERED_LENGTH = 64 * 1024;

export class Readmes {
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
