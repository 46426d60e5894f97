/** Owns the texts of the shop's applications as HTML. They are kept while they are asked for and stay as they are: a long one takes a while. */
import type { ShopEntry } from '../../../core/shop/shop.ts';
import { pictureType } from '../../../operations/shop/shop-entries.ts';
import { type Html, html, trusted } from '../../components/html.ts';
import { renderMarkdown } from '../../components/markdown.ts';
import { shopPath } from './shop-entry.ts';

const MAX_CACHED = 200;
/** Characters: a longer one is shown as it is, for Markdown can be written that takes seconds for each page of it. */
const MAX_RENDERED_LENGTH = 64 * 1024;

export class Readmes {
  /** By id, the one asked for last at the end. */
  readonly #kept = new Map<string, { readme: string; rendered: Html }>();

  async of(entry: ShopEntry): Promise<Html> {
    const { id, readme } = entry;
    const kept = this.#kept.get(id);
    const rendered = kept?.readme === readme ? kept.rendered : await render(entry);
    this.#kept.delete(id);
    this.#kept.set(id, { readme, rendered });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_CACHED) break;
      this.#kept.delete(oldest);
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

/** Most texts begin with the name, which the page has already. */
function withoutTitle({ readme, name }: ShopEntry): string {
  const [, title, rest = ''] = /^\s*#[ \t]+(\S[^\n]*)\n([\s\S]*)$/.exec(readme) ?? [];
  return title?.trim().toLowerCase() === name.toLowerCase() ? rest : readme;
}
