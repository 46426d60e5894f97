import { expect, test } from 'vitest';
import { linkedFiles, withLinksWithin } from '../../../release/document-links.ts';

const TEXT = [
  'See [the *guide*](user-guide.md#logs), [below](#logs) and [tests](../test/README.md).',
  '![a picture](../web/logs.jpg) of [decisions](decisions/), [the licence](../LICENSE), [npm](https://npmjs.com/a.md)',
].join('\n');

test('L231: links to what the package lacks become their words, and all others stay', () => {
  const files = ['docs/user-guide.md', 'LICENSE'];
  expect(withLinksWithin(TEXT, 'docs/a.md', (file) => files.includes(file))).toBe(
    [
      'See [the *guide*](user-guide.md#logs), [below](#logs) and tests.',
      'a picture of decisions, [the licence](../LICENSE), [npm](https://npmjs.com/a.md)',
    ].join('\n'),
  );
  expect(linkedFiles(TEXT, 'docs/a.md')).toEqual([
    'docs/user-guide.md',
    'test/README.md',
    'web/logs.jpg',
    'docs/decisions',
    'LICENSE',
  ]);
});
