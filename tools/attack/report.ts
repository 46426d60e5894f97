/** What the program prints about attacks: lines, a summary, and JSON. Pure. */
import type { Attack, Result, Verdict } from './attack.ts';

const MARKS: Record<Verdict, string> = {
  safe: 'safe      ',
  vulnerable: 'VULNERABLE',
  skipped: 'skipped   ',
};

export const titleOf = ({ id, who, tries }: Pick<Attack, 'id' | 'who' | 'tries'>): string =>
  `${id}: ${who} ${tries}`;

/** The line before an attack. */
export const beginningOf = (attack: Attack, nth: number, count: number): string =>
  `[${nth}/${count}] ${titleOf(attack)}`;

/** The line after an attack. */
export const endingOf = ({ verdict, happened, ms }: Result): string =>
  `        ${MARKS[verdict]} ${happened} (${(ms / 1_000).toFixed(1)} s)`;

export const jsonOf = (result: Result): string => JSON.stringify({ ...result, ms: Math.round(result.ms) });

/** A table of all results, and how many had each verdict. */
export function summaryOf(results: readonly Result[]): string {
  const width = Math.max(0, ...results.map(({ id }) => id.length));
  const rows = results.map(
    ({ id, verdict, rules, happened }) =>
      `${MARKS[verdict]}  ${id.padEnd(width)}  ${rules.join(' ')}${verdict === 'safe' ? '' : `: ${happened}`}`,
  );
  const count = (verdict: Verdict) => results.filter((one) => one.verdict === verdict).length;
  const counts = `${count('safe')} safe, ${count('vulnerable')} vulnerable, ${count('skipped')} skipped`;
  return [...rows, '', counts].join('\n');
}

export const listOf = (attacks: readonly Attack[]): string =>
  attacks.map((attack) => `${titleOf(attack)} (${attack.rules.join(', ')})`).join('\n');
