/** Parses the threat model of docs/security.md. Pure. */

/** One thing that a kind of attacker must never be able to do. */
export interface ThreatLine {
  who: string;
  never: string;
  rules: string[];
  /** Paths of the test files that prove the rules. */
  tests: string[];
}

/** The lines of all tables with such a head. Throws on a line without rules or tests. */
export function linesOfThreatModel(markdown: string): ThreatLine[] {
  const lines: ThreatLine[] = [];
  let who = '';
  let within = false;
  for (const line of markdown.split('\n')) {
    const heading = /^#+ (.+)$/.exec(line);
    if (heading) who = heading[1] ?? '';
    if (line === '| must never | rules | tests |') within = true;
    else if (!line.startsWith('|')) within = false;
    else if (within && !line.startsWith('|---')) lines.push(lineOf(who, line));
  }
  return lines;
}

function lineOf(who: string, line: string): ThreatLine {
  const [never = '', rules = '', tests = '', ...rest] = line.split('|').slice(1, -1);
  const found = {
    who,
    never: never.trim(),
    rules: rules.match(/\b[HCLWP]\d+\b/g) ?? [],
    tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  };
  if (found.rules.length === 0 || found.tests.length === 0 || rest.length > 0)
    throw new Error(`${who}: ${found.never} must have rules and tests`);
  return found;
}
