/** Reads files of variables as Compose does: `.env`, and those that `env_file` names. Pure. */
import { interpolate, type LookUp } from './interpolation.ts';

/** As many as a service may have. */
export const MAX_VARIABLES = 1000;

/** How a file is read: as Compose does by default, or with each value as it is. */
export type EnvFormat = 'quoted' | 'raw';

/**
 * The variables of a file. A line without `=` takes its variable from `lookUp`, if it is set there. Throws
 * for other lines, and names them.
 */
export function readVariables(
  text: string,
  lookUp: LookUp,
  format: EnvFormat = 'quoted',
): Map<string, string> {
  const variables = new Map<string, string>();
  const known: LookUp = (name) => lookUp(name) ?? variables.get(name);
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const [, name, assigned] = LINE.exec(line) ?? [];
    if (IGNORED.test(line)) continue;
    try {
      if (name === undefined) throw new Error('is not NAME=VALUE');
      const value = assigned === undefined ? lookUp(name) : assignedValue(assigned.slice(1), known, format);
      if (value !== undefined) variables.set(name, value);
      if (variables.size > MAX_VARIABLES) throw new Error(`is variable ${variables.size}: remove some`);
    } catch (error) {
      throw new Error(`line ${at + 1} ${(error as Error).message}`);
    }
  }
  return variables;
}

const IGNORED = /^\s*(?:#|$)/;
const LINE = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)(?:\s*$|\s*(=.*)$)/;
const QUOTED = /^(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?$/;

function assignedValue(given: string, lookUp: LookUp, format: EnvFormat): string {
  if (format === 'raw') return given;
  const text = given.trim();
  if (!/^['"]/.test(text)) return interpolate(withoutComment(text), lookUp).text;
  const [, literal, escaped] = QUOTED.exec(text) ?? [];
  if (literal !== undefined) return literal;
  if (escaped === undefined) throw new Error('has no closing quote at its end: a value is on one line');
  return interpolate(escaped.replace(ESCAPE, unescaped), lookUp).text;
}

/** A comment begins after a blank. */
function withoutComment(text: string): string {
  const at = text.search(/(?:^|[ \t])#/);
  return at < 0 ? text : text.slice(0, at).trimEnd();
}

const ESCAPE = /\\(.)/g;
const ESCAPED: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  $: '$$',
  '"': '"',
  '\\': '\\',
};
const unescaped = (whole: string, letter: string): string => ESCAPED[letter] ?? whole;
