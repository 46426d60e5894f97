/** The glossary: its code words are names in the sources, its index is complete, and the rules link to it. */
import { expect, test } from 'vitest';
import { anchorsOf, linksOf } from '../../support/tools/documents.ts';
import { sourceOf, sourcesIn } from '../../support/tools/sources.ts';

const glossary = sourceOf('docs/glossary.md').text;
const code = sourcesIn('control-plane', 'agent', 'shared')
  .map((source) => source.code)
  .join('\n');

interface Term {
  name: string;
  /** The words in backticks beside the term. */
  words: string[];
}

/** The terms of the tables, in their order. */
function termsOf(markdown: string): Term[] {
  return [...markdown.matchAll(/^\| \*\*(.+?)\*\*(.*?) \|/gm)].map(([, name = '', rest = '']) => ({
    name,
    words: [...rest.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word),
  }));
}

/** The code words that no source has as a whole word, outside of comments. */
function unusedWordsOf(markdown: string): string[] {
  const unused = ({ words }: Term) => words.filter((word) => !wholeWord(word).test(code));
  return termsOf(markdown).flatMap((term) => unused(term).map((word) => `${term.name}: ${word}`));
}

const wholeWord = (word: string): RegExp =>
  new RegExp(`(?<![\\w-])${word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`);

/** A term and the anchor of a section. */
type Entry = readonly [name: string, anchor: string];

/** The entries of the index, with the sections that they link to. */
const entriesOf = (markdown: string): Entry[] =>
  [...markdown.matchAll(/^\[.+$/gm)]
    .flatMap(([line]) => [...line.matchAll(/\[([^\]]+)\]\(#([\w-]+)\)/g)])
    .map(([, name = '', anchor = '']) => [name, anchor]);

/** The terms of the tables, with the sections that they are in. */
const placesOf = (markdown: string): Entry[] =>
  markdown.split(/^(?=## )/m).flatMap((section): Entry[] => {
    const [anchor = ''] = anchorsOf(section);
    return termsOf(section).map(({ name }) => [name, anchor]);
  });

const alphabetical = (entries: readonly Entry[]): Entry[] =>
  entries.toSorted(([a], [b]) => a.localeCompare(b, 'en', { sensitivity: 'base' }));

test('each code word beside a term of the glossary is used in the sources', () => {
  expect(termsOf(glossary).flatMap(({ words }) => words).length).toBeGreaterThan(100);
  expect(unusedWordsOf(glossary)).toEqual([]);
});
test('each term of the glossary has one meaning: no term is there twice', () => {
  const names = termsOf(glossary).map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) < at)).toEqual([]);
});
test('the index of the glossary is alphabetical and has every term, with the section of the term', () => {
  expect(entriesOf(glossary)).toEqual(alphabetical(placesOf(glossary)));
});
test('the rules of the control plane link to the glossary', () => {
  expect(linksOf(sourceOf('control-plane/SPEC.md').text)).toContain('../docs/glossary.md');
});
