import { expect, test } from 'vitest';
import { html, trusted } from '../../../control-plane/web/components/html.ts';
import { fc } from '../../support/tools/random-cases.ts';

const pieces = ['plain ', `<script>alert("x" & 'y')</script>`, '&amp;&lt;', '$& $1 \\', 'é𝄞\ud800"'];

/** What a browser receives. */
const sent = (page: unknown): string => Buffer.from(String(page)).toString();

test('a long text is escaped as a short one, and trusted text is not', () => {
  for (const piece of pieces) {
    const escaped = html`${piece}`.toString().repeat(5000);
    expect(sent(html`<p>${piece.repeat(5000)}</p>`)).toBe(sent(`<p>${escaped}</p>`));
  }
  expect(String(html`${trusted('<b></b>'.repeat(5000))}`)).toBe('<b></b>'.repeat(5000));
});

test('special characters are escaped wherever they stand in a long text, and pairs stay whole', () => {
  const lengths = fc.array(fc.tuple(fc.constantFrom('a', '𝄞', '"'), fc.integer({ max: 9000, min: 0 })));
  fc.assert(
    fc.property(lengths, (runs) => {
      const text = `${runs.map(([piece, length]) => piece.repeat(length)).join('<')}${'.'.repeat(5000)}`;
      const escaped = text.replaceAll('"', '&quot;').replaceAll('<', '&lt;');
      expect(sent(html`${text}`) === escaped).toBe(true);
    }),
  );
});
