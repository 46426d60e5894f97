/**
 * Renders untrusted Markdown as HTML for a page. Nothing in it runs, and nothing in it causes a request to
 * another host.
 */

export interface MarkdownOptions {
  /**
   * The URL of a picture by its name, escaped for an attribute; undefined if there is no such picture. No
   * other pictures are shown.
   */
  pictureUrl(name: string): string | undefined;
  /** The URL of any other link by its target, escaped for an attribute; undefined: its words are shown. */
  linkUrl?(target: string): string | undefined;
  /** Whether links of the text lead to its headings, by their words, as on GitHub. */
  hasAnchors?: boolean;
}

/**
 * Renders GitHub's Markdown. micromark shows HTML in the text as text. Links lead only to http, https, mail,
 * places in the text, and what the options allow. Headings move down one level, because the page has its own
 * first heading.
 */
export async function renderMarkdown(
  text: string,
  { pictureUrl, linkUrl, hasAnchors = false }: MarkdownOptions,
): Promise<string> {
  // Loaded on demand: most processes never render Markdown.
  const { micromark } = await import('micromark');
  const { gfm, gfmHtml } = await import('micromark-extension-gfm');
  const html = micromark(text, {
    extensions: [gfm()],
    htmlExtensions: [gfmHtml({ clobberPrefix: 'readme-', labelAttributes: 'class="unseen"' })],
  });
  // In micromark's output every < begins one of its own tags, and every " in an attribute ends that
  // attribute.
  return (
    html
      .replace(/<img src="([^"]*)"( alt="[^"]*")?[^>]*>/g, (_, src: string, alt = ' alt=""') =>
        picture(src, alt, pictureUrl),
      )
      .replace(/<a href="([^"]*)"/g, (link, target: string) => {
        if (isSafe(target)) return `${link} rel="noreferrer"`;
        const url = linkUrl?.(target);
        return url === undefined ? '<a' : `<a href="${url}"`;
      })
      .replace(/<h([1-6])>(.*?)<\/h\1>/g, (heading, level: string, words: string) =>
        hasAnchors ? `<h${level} id="${anchorOf(words)}">${words}</h${level}>` : heading,
      )
      .replace(
        /<(\/?)h([1-6])\b/g,
        (_, slash: string, level: string) => `<${slash}h${Math.min(6, +level + 1)}`,
      )
      .replace(/<input type="checkbox" disabled="" (checked="" )?\/>/g, (_, checked) => (checked ? '☑' : '☐'))
      // Wide elements scroll by themselves and can be focused, so that they also scroll by keyboard.
      .replace(/<pre>/g, '<pre tabindex="0">')
      .replace(/<table>/g, '<div class="scroll" tabindex="0"><table>')
      .replace(/<\/table>/g, '</table></div>')
  );
}

/** The words of a heading are as micromark has written them. */
const anchorOf = (words: string): string =>
  words
    .replace(/<[^>]*>|&[a-z]+;/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Checks how a link begins, as micromark has written it. */
const isSafe = (target: string): boolean => /^(https?:\/\/|mailto:|#)/i.test(target);

function picture(src: string, alt: string, pictureUrl: MarkdownOptions['pictureUrl']): string {
  const url = /^[^/:?#&%]+$/.test(src) ? pictureUrl(src) : undefined;
  return url === undefined ? alt.slice(' alt="'.length, -1) : `<img src="${url}"${alt} loading="lazy">`;
}
