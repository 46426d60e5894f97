/**
 * Draws single-line changes of sources by a seed. Pure. A change is one that a slip of the hand or of the
 * mind might make. Comments, imports, types, log lines and texts never change; of texts, only SQL does.
 */
import { createHash } from 'node:crypto';
import { seededRandom } from '../../test/support/tools/random.ts';

export interface Source {
  path: string;
  text: string;
}

export interface Change {
  path: string;
  /** Line of the file, from 1. */
  line: number;
  before: string;
  /** Undefined if the line is removed. */
  after: string | undefined;
}

type Operator = readonly [pattern: RegExp, change: (found: string) => string];

const swap = (one: string, other: string) => (found: string) =>
  found.includes(one) ? found.replace(one, other) : found.replace(other, one);

const constant = (text: string) => () => text;
const orEqual = (found: string) => `${found.trimEnd()}= `;
const notEqual = (found: string) => found.replace('=', '');

/** Matched against code whose comments, texts and types are blank. */
const CODE: readonly Operator[] = [
  [/ [!=]== /g, swap('===', '!==')],
  // A bound of time moves by more than one millisecond.
  [/(?<=(?:Ms|_MS)\)?) [<>]=? | [<>]=? (?=[\w.#]*(?:Ms|_MS)\b)/g, negated],
  [/(?<!(?:Ms|_MS)\)?) [<>] (?![\w.#]*(?:Ms|_MS)\b)/g, orEqual],
  [/(?<!(?:Ms|_MS)\)?) [<>]= (?![\w.#]*(?:Ms|_MS)\b)/g, notEqual],
  [/ (?:&&|\|\|) /g, swap('&&', '||')],
  [/(?<![\w)\]])!(?=[\w(#])/g, constant('')],
  [/(?<=\b(?:if|while) \()(?=[\w.#?]+(?:\([^()]*\))?\))/g, constant('!')],
  [/(?<=[=(,:] |=> |return |\()(?=[\w.#?]+(?:\([^()]*\))? \? )/g, constant('!')],
  // A default is mostly there for the types, and a named constant has no wrong neighbours.
  [
    /(?<!\?\? |[[{,] ?\w+ = |const [A-Z\d_]+ = .*|[\w.$-])\d{1,2}(?![\w.])/g,
    (found) => `${Number(found) + 1}`,
  ],
  [/\b(?:true|false)\b/g, swap('true', 'false')],
  [/ [+-]=? /g, swap('+', '-')],
  [/\bMath\.(?:min|max)\b/g, swap('min', 'max')],
  [/\.(?:some|every)\(/g, swap('some', 'every')],
  [/(?<=[=(,:] |=> |return |\()[\w.#?]+(?:\([^()]*\))? \?\? /g, constant('')],
];

/** Matched against the texts of the store. */
const SQL: readonly Operator[] = [
  [/(?<=\b(?:WHERE|AND|OR|ON|WHEN) [\w.]+) = /g, constant(' <> ')],
  [/(?<=\b(?:WHERE|AND|OR|ON|WHEN) [\w.]+_ms) [<>]=? /g, negated],
  [/(?<=\b(?:WHERE|AND|OR|ON|WHEN) [\w.]+(?<!_ms)) [<>] /g, orEqual],
  [/(?<=\b(?:WHERE|AND|OR|ON|WHEN) [\w.]+(?<!_ms)) [<>]= /g, notEqual],
  [/\bIS NULL\b/g, constant('IS NOT NULL')],
  [/\bIS NOT NULL\b/g, constant('IS NULL')],
  [/(?<!BETWEEN \S+) AND (?!\$)/g, constant(' OR ')],
  [/(?<=ORDER BY [\w.]+) DESC/g, constant('')],
];

/** A statement on one line that may be absent: a call, an assignment, or a guard with what it guards. */
const STATEMENT =
  /^\s+(?:(?:await |void )?(?!super\b)\w[\w.#?!]*\(.*\)|[\w.#?[\]]+ (?:[-+]|\?\?|\|\||&&)?= .*|if \(.*\) .*);$/;
const LOG = /\blog(?:[A-Z]\w*)?\(/;

const COMMENT = String.raw`\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*`;
const TYPE = String.raw`^(?:import\b|export (?:type )?[*{])[\s\S]*?;$|^(?:export )?(?:interface \w+[\s\S]*?^}|type [\s\S]*?;$(?=\n\S|\n\n|\n*$))`;
const TEMPLATE = String.raw`\`(?:\\.|\$\{(?:[^\`{}]|\`[^\`]*\`|\{[^}]*\})*\}|[^\`\\])*\``;
const TEXT = String.raw`'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|${TEMPLATE}|(?<=[=(,:&|?!]\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+\/`;
const NOT_CODE = new RegExp(`${COMMENT}|${TYPE}|${TEXT}`, 'gm');

const blank = (text: string): string => text.replace(/[^\n]/g, ' ');

/** Every change that the operators allow, in the order of the sources and their lines. */
export function changesOf({ path, text }: Source): Change[] {
  const lines = text.split('\n');
  const code = text.replace(NOT_CODE, blank).split('\n');
  const sql = path.startsWith('control-plane/store/') ? sqlIn(text).split('\n') : [];
  return lines.flatMap((before, at) => {
    const masked = code[at] ?? '';
    if (LOG.test(masked)) return [];
    const changed = [
      ...CODE.flatMap((one) => applied(one, before, masked)),
      ...SQL.flatMap((one) => applied(one, before, sql[at] ?? '')),
      ...(STATEMENT.test(masked) && beginsStatement(code, at) ? [undefined] : []),
    ];
    return changed.map((after) => ({ path, line: at + 1, before, after }));
  });
}

/** All changes in an order that depends on the seed and the sources alone. */
export function drawn(sources: readonly Source[], seed: string): Change[] {
  const all = sources.toSorted((a, b) => (a.path < b.path ? -1 : 1)).flatMap(changesOf);
  const random = seededRandom(createHash('sha256').update(seed).digest().readInt32BE());
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [all[last], all[other]] = [all[other] as Change, all[last] as Change];
  }
  return all;
}

export function changed(text: string, { line, after }: Change): string {
  return text
    .split('\n')
    .toSpliced(line - 1, 1, ...(after === undefined ? [] : [after]))
    .join('\n');
}

function applied([pattern, change]: Operator, before: string, masked: string): string[] {
  return [...masked.matchAll(pattern)].map(({ 0: found, index }) => {
    return before.slice(0, index) + change(found) + before.slice(index + found.length);
  });
}

function negated(found: string): string {
  const opposite: Record<string, string> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' };
  return ` ${opposite[found.trim()]} `;
}

/** Whether the line follows a whole statement, or begins a block. */
function beginsStatement(code: readonly string[], at: number): boolean {
  const previous = code.slice(0, at).findLast((line) => line.trim() !== '');
  return previous === undefined || /[;{}:]\s*$/.test(previous);
}

/** The text with all but texts blank. */
function sqlIn(text: string): string {
  let end = 0;
  let sql = '';
  for (const { 0: found, index } of text.matchAll(NOT_CODE)) {
    sql += blank(text.slice(end, index)) + (/^['`]/.test(found) ? found : blank(found));
    end = index + found.length;
  }
  return sql;
}
