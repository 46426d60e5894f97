/** Compares numbered rules with the tests that prove them, by the titles of vitest's JSON report. Pure. */

interface Report {
  testResults: { assertionResults: { status: string; ancestorTitles: string[]; title: string }[] }[];
}

/** Titles of the tests that ran and of their groups. */
export function titlesOf(json: string): string[] {
  const tests = (JSON.parse(json) as Report).testResults.flatMap((file) => file.assertionResults);
  const ran = tests.filter(({ status }) => status === 'passed' || status === 'failed');
  return [...new Set(ran.flatMap(({ ancestorTitles, title }) => [...ancestorTitles, title]))];
}

/** The beginnings of titles in a source of tests that has not run. */
export const titlesIn = (source: string): string[] =>
  [...source.matchAll(/['"`]([A-Z]\d+(?:, [A-Z]\d+)*: )/g)].map(([, beginning = '']) => beginning);

/**
 * Problems between the documents' rules (`- **H1** ...`) and titles (`H1, P2: ...`). `elsewhere` has titles
 * of tests that another run has.
 */
export function checkRules(
  documents: readonly string[],
  titles: readonly string[],
  elsewhere: readonly string[] = [],
): string[] {
  const rules = documents.flatMap((text) =>
    [...text.matchAll(/^- \*\*([A-Z]\d+)\*\*/gm)].map(([, rule = '']) => rule),
  );
  const proved = new Set([...titles, ...elsewhere].flatMap(rulesOf));
  return [
    ...rules.filter((rule, at) => rules.indexOf(rule) < at).map((rule) => `${rule} is defined twice`),
    ...rules.filter((rule) => !proved.has(rule)).map((rule) => `${rule} has no test`),
    ...titles
      .filter((title) => rulesOf(title).some((rule) => !rules.includes(rule)))
      .map((title) => `the rule does not exist: ${title}`),
    ...titles
      .filter((title) => /^[HCP]\d+\b/.test(title) && rulesOf(title).length === 0)
      .map((title) => `rules must be separated by commas and followed by a colon: ${title}`),
  ];
}

const rulesOf = (title: string): string[] =>
  /^([A-Z]\d+(?:, [A-Z]\d+)*): /.exec(title)?.[1]?.split(', ') ?? [];
