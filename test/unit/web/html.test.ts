import { expect, test } from 'vitest';
import { html, trusted } from '../../../control-plane/web/components/html.ts';

const pieces = ['plain ', `<script>alert("x" & 'y')</script>`, '&amp;&lt;', '$& $1 \\', 'é𝄞\ud800"'];

/** What a browser receives. */
const sent = (page: unknown): string => Buffer.from(String(page)).toString();

test.each(pieces)('a long text is escaped as a short one: %j', (piece) => {
  expect(sent(html`<p>${piece.repeat(5000)}</p>`)).toBe(
    sent(`<p>${html`${piece}`.toString().repeat(5000)}</p>`),
  );
});

test('long trusted text is not escaped', () => {
  expect(String(html`${trusted('<b></b>'.repeat(5000))}`)).toBe('<b></b>'.repeat(5000));
});
