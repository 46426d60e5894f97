/**
 * Owns how Markdown that others wrote becomes HTML that may be put into a page. Whatever it says, nothing of it runs, and
 * no other host is asked for anything.
 */

export interface MarkdownOptions {
  /** Where a picture of that name is, as an attribute can have it; undefined where there is none. From anywhere else there are no pictures. */
  pictureUrl(name: string): string | undefined;
}

/**
 * GitHub's Markdown as HTML. Its HTML is shown as text (micromark's own way), links lead to http, https, mail and within
 * the text, headings are one level lower, for a page has its own first one.
 */
export async function renderMarkdown(text: string, { pictureUrl }: MarkdownOptions): Promise<string> {
  // Not before: most processes never need it.
  const { micromark } = await import('micromark');
  const { gfm, gfmHtml } = await import('micromark-extension-gfm');
  const html = micromark(text, {
    extensions: [gfm()],
    htmlExtensions: [gfmHtml({ clobberPrefix: 'readme-', labelAttributes: 'class="unseen"' })],
  });
  // Of what micromark wrote, every < begins a tag of its own and every " in an attribute ends it: texts have neither.
  return (
    html
      .replace(/<img src="([^"]*)"( alt="[^"]*")?[^>]*>/g, (_, src: string, alt = ' alt=""') =>
        picture(src, alt, pictureUrl),
      )
      .replace(/<a href="([^"]*)"/g, (link, target: string) =>
        isSafe(target) ? `${link} rel="noreferrer"` : '<a',
      )
      .replace(
        /<(\/?)h([1-6])\b/g,
        (_, slash: string, level: string) => `<${slash}h${Math.min(6, +level + 1)}`,
      )
      .replace(/<input type="checkbox" disabled="" (checked="" )?\/>/g, (_, checked) => (checked ? '☑' : '☐'))
      // What may be wider than the page scrolls by itself, with the keyboard, too.
      .replace(/<pre>/g, '<pre tabindex="0">')
      .replace(/<table>/g, '<div class="scroll" tabindex="0"><table>')
      .replace(/<\/table>/g, '</table></div>')
  );
}

/** Of a link: what it begins with, in the form in which micromark has written it. */
const isSafe = (target: string): boolean => /^(https?:\/\/|mailto:|#)/i.test(target);

function picture(src: string, alt: string, pictureUrl: MarkdownOptions['pictureUrl']): string {
  const url = /^[^/:?#&%]+$/.test(src) ? pictureUrl(src) : undefined;
  return url === undefined ? alt.slice(' alt="'.length, -1) : `<img src="${url}"${alt} loading="lazy">`;
}
