import { expect, test } from 'vitest';
import { renderMarkdown } from '../../../control-plane/web/components/markdown.ts';

const render = (text: string): Promise<string> =>
  renderMarkdown(text, { pictureUrl: (name) => (name === 'logo.svg' ? '/p/logo.svg' : undefined) });

/** The tags with their attributes, without text. */
const tagsOf = (html: string): string[] => html.match(/<[^>]*>/g) ?? [];

test.each([
  ['a script', '<script>alert(1)</script>'],
  ['a script within text', 'a <script>alert(1)</script> b'],
  ['a handler', '<b onclick="alert(1)">b</b>'],
  ['a picture with a handler', '<img src=x onerror=alert(1)>'],
  ['SVG', '<svg onload=alert(1)><script>alert(1)</script></svg>'],
  ['a frame', '<iframe src="https://example.org"></iframe>'],
  ['a form', '<form action="https://example.org"><input name="password"></form>'],
  ['styles', '<style>body { display: none }</style>'],
  ['a comment', '<!-- --><script>alert(1)</script>'],
  ['CDATA', '<![CDATA[<script>alert(1)</script>]]>'],
  ['a tag in a code block', '```"><script>\n</code></pre><script>alert(1)</script>\n```'],
  ['a tag in code', '`<script>alert(1)</script>`'],
  ['character references', '&lt;script&gt;alert(1)&lt;/script&gt;'],
  ['a tag in a title', '[a](https://example.org "\\"><script>alert(1)</script>")'],
  ['a handler in a link', '[a](https://example.org/"onmouseover="alert(1))'],
  ['a handler in a picture', '![" onerror="alert(1)](logo.svg "\\" onerror=\\"alert(1)")'],
  ['a tag in a picture', '![<img src="x" onerror="alert(1)">](logo.svg)'],
  ['a picture in a picture', '![a ![b](logo.svg) <script>](logo.svg)'],
  ['a link in a table', '| a |\n|---|\n| <script> [x](javascript:alert(1)) |'],
  ['a footnote', 'a[^"><script>]\n\n[^"><script>]: <script>alert(1)</script>'],
  ['half a tag', '<scr<script>ipt>alert(1)</scr</script>ipt>'],
  ['a NUL', '<scr\0ipt>alert(1)</scr\0ipt> [a](java\0script:alert(1))'],
])('W71: %s becomes text or nothing', async (_, text) => {
  const html = await render(text);
  const known = /^<\/?(p|a|b|code|pre|img|div|table|thead|tbody|tr|th|td|sup|section|h3|ol|li)\b/;
  for (const tag of tagsOf(html)) {
    expect(tag).toMatch(known);
    // Attributes that run code, outside quoted values.
    expect(tag.replaceAll(/"[^"]*"/g, '""')).not.toMatch(/\s(on\w+|style|srcset|formaction)\b/i);
  }
  expect(html).not.toMatch(/(href|src)="(?!https:\/\/example\.org|#|\/p\/logo\.svg)/);
});

const SCRIPTS = ['javascript', 'JaVaScRiPt', '&#106;avascript', 'java&Tab;script'];
test.each([
  ...SCRIPTS.map((scheme) => `${scheme}:alert(1)`),
  ...['data:text/html,alert(1)', 'vbscript:x', 'file:///etc/passwd', 'blob:https://example.org/1'],
  ...['//example.org/', '/logout', 'other.md', 'ircs://example.org'],
])('W71: a link to %s has no target', async (target) => {
  for (const text of [`[a](<${target}>)`, `[a]\n\n[a]: <${target}>`]) {
    expect(await render(text)).toContain('<a>a</a>');
    expect(await render(text)).not.toContain('href');
  }
  expect(await render(`<${target}>`)).not.toContain('href');
});

test.each([
  ...['https://example.org/x.png', '//example.org/x.png', 'data:image/svg+xml;base64,AAAA'],
  ...['javascript:alert(1)', '../logo.svg', '/p/logo.svg', 'other.png', 'logo.svg?x', '%6cogo.svg'],
])('W71: a picture from %s is replaced by its text', async (source) => {
  expect(await render(`![what it shows](${source})`)).toBe('<p>what it shows</p>');
});

test('W71: pictures of the folder of the application are shown; links to http, https and mail are links, and send no referrer', async () => {
  const logo = '<p><img src="/p/logo.svg" alt="its &quot;logo&quot;" loading="lazy"></p>';
  expect(await render('![its "logo"](logo.svg)')).toBe(logo);
  expect(await render('[a](https://example.org/?a=1&b) <http://example.org> a@example.org')).toBe(
    '<p><a href="https://example.org/?a=1&amp;b" rel="noreferrer">a</a> ' +
      '<a href="http://example.org" rel="noreferrer">http://example.org</a> ' +
      '<a href="mailto:a@example.org" rel="noreferrer">a@example.org</a></p>',
  );
});

test('W71: headings move down one level, task lists have no controls, and wide elements scroll', async () => {
  expect(await render('# One\n\n###### Six')).toBe('<h2>One</h2>\n<h6>Six</h6>');
  expect(await render('- [x] done\n- [ ] open')).toBe('<ul>\n<li>☑ done</li>\n<li>☐ open</li>\n</ul>');
  expect(await render('| a |\n|---|\n')).toContain('<div class="scroll" tabindex="0"><table>');
  expect(await render('    code')).toBe('<pre tabindex="0"><code>code\n</code></pre>');
});

test('H819: links of a document to others and to its headings work where the page allows them', async () => {
  const linkUrl = (target: string) => (target.endsWith('.md') ? `/guide/${target}` : undefined);
  const text =
    '## `POST` user/<id> & "more"\n\n[a](b.md) [c](../d.md) [e](f.ts) [g](javascript:h.md) [i](#post)';
  const html = await renderMarkdown(text, { pictureUrl: () => undefined, linkUrl, hasAnchors: true });
  expect(html).toContain('<h3 id="post-userid--more">');
  expect(html).toContain('<a href="/guide/b.md">a</a> <a href="/guide/../d.md">c</a> <a>e</a>');
  expect(html).not.toContain('javascript');
  expect(await render('## Words\n\n[a](b.md)')).toContain('<h3>Words</h3>\n<p><a>a</a></p>');
});
