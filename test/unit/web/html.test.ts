import { expect, test } from 'vitest';
import { html, trusted } from '../../../control-plane/web/components/html.ts';

const pieces = ['plain ', `<script>alert("x" & 'y')</script>`, '&amp;&lt;', '$& $1 \\', 'é𝄞\ud800"'];

test.each(pieces)('a long text is escaped as a short one: %j', (piece) => {
  expect(String(html`<p>${piece.repeat(5000)}</p>`)).toBe(`<p>${String(html`${piece}`).repeat(5000)}</p>`);
});

test('long trusted text is not escaped', () => {
  expect(String(html`${trusted('<b></b>'.repeat(5000))}`)).toBe('<b></b>'.repeat(5000));
});
