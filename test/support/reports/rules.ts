/** Compares numbered rules of documents with the titles of tests that prove them. Pure. */

/** The beginnings of titles in a source of tests, such as `H1, P2: `. */
export const titlesIn = (source: string): string[] =>
  [...source.matchAll(/['"`]([A-Z]\d+(?:[, ]+[A-Z]\d+)*: )/g)].map(([, beginning = '']) => beginning.trim());

/** The rules of a document, such as `- **H1** ...`. */
export const definedIn = (document: string): string[] =>
  [...document.matchAll(/^- \*\*([A-Z]\d+)\*\*/gm)].map(([, rule = '']) => rule);

/** Problems between the documents' rules (`- **H1** ...`) and titles (`H1, P2: ...`). */
export function checkRules(documents: readonly string[], titles: readonly string[]): string[] {
  const rules = documents.flatMap(definedIn);
  const proved = new Set(titles.flatMap(rulesOf));
  return [
    ...rules.filter((rule, at) => rules.indexOf(rule) < at).map((rule) => `${rule} is defined twice`),
    ...rules.filter((rule) => !proved.has(rule)).map((rule) => `${rule} has no test`),
    ...titles
      .filter((title) => rulesOf(title).some((rule) => !rules.includes(rule)))
      .map((title) => `the rule does not exist: ${title}`),
    ...titles
      .filter((title) => rulesOf(title).length === 0)
      .map((title) => `rules must be separated by commas and followed by a colon: ${title}`),
  ];
}

/** The rules that a title begins with. */
export const rulesOf = (title: string): string[] =>
  /^([A-Z]\d+(?:, [A-Z]\d+)*):/.exec(title)?.[1]?.split(', ') ?? [];
