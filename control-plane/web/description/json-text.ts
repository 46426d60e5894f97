/**
 * Parses JSON that people type: strictly, with the line of every fault, and with the line of any JSON
 * pointer.
 */
import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { depthProblem } from '../../../shared/json-depth.ts';
import { offsetsOf } from './json-places.ts';

/** Counted from 1. Columns are in UTF-16 units, as browsers count them. */
export interface Place {
  line: number;
  column: number;
}

export interface Fault extends Place {
  message: string;
}

/** Faults that are reported: later ones often follow from the first. */
const MAX_SYNTAX_ERRORS = 5;

const STRICT = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };

const NOT_JSON = 'this is not valid JSON';

const MESSAGES: Readonly<Record<string, string>> = {
  InvalidSymbol:
    'this is not JSON. Strings must be in double quotes; YAML and Compose files are not supported here',
  InvalidNumberFormat: 'this is not a valid JSON number',
  PropertyNameExpected: 'expected a key in double quotes, or there is an extra comma before this',
  ValueExpected: 'expected a value, or there is an extra comma before this',
  ColonExpected: 'missing colon before this',
  CommaExpected: 'missing comma before this',
  CloseBraceExpected: 'missing closing } before this',
  CloseBracketExpected: 'missing closing ] before this',
  EndOfFileExpected: 'unexpected text after the end of the description',
  InvalidCommentToken: 'comments are not allowed in JSON',
  UnexpectedEndOfComment: 'this comment has no end',
  UnexpectedEndOfString: 'this string has no closing quote on its line',
  UnexpectedEndOfNumber: 'this number is incomplete',
  InvalidUnicode: 'expected four hexadecimal digits after \\u',
  InvalidEscapeCharacter: 'invalid escape sequence: write \\\\ for a backslash',
  InvalidCharacter: 'this character must be escaped, such as a tab as \\t',
};

/** The value of the text, or its faults. */
export function readJson(text: string): { value: unknown; faults?: undefined } | { faults: Fault[] } {
  const problem = depthProblem(text);
  if (problem !== undefined) return { faults: [{ line: 1, column: 1, message: `this JSON ${problem}` }] };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { faults: faultsOf(text) };
  }
}

/** Errors that are examined: a text may have as many as it has characters. */
const MAX_PROBLEMS = 50;

function faultsOf(text: string): Fault[] {
  const placeAt = placesOf(text);
  const faults = errorsIn(text).map(({ error, offset }) => ({
    ...placeAt(offset),
    message: MESSAGES[printParseErrorCode(error)] ?? NOT_JSON,
  }));
  const first = faults.filter(({ line }, at) => faults.findIndex((other) => other.line === line) === at);
  // JSON.parse refuses some texts that this parser accepts.
  return first.length > 0 ? first.slice(0, MAX_SYNTAX_ERRORS) : [{ line: 1, column: 1, message: NOT_JSON }];
}

interface SyntaxFault {
  error: ParseErrorCode;
  offset: number;
}

/** Ends the parser, which has no other way to stop early. */
const ENOUGH = new Error('enough errors');

function errorsIn(text: string): SyntaxFault[] {
  const errors: SyntaxFault[] = [];
  const onError = (error: ParseErrorCode, offset: number) => {
    errors.push({ error, offset });
    if (errors.length >= MAX_PROBLEMS) throw ENOUGH;
  };
  try {
    visit(text, { onError }, STRICT);
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return errors;
}

/**
 * The places in a valid text of the values that pointers (RFC 6901) name, or the places where missing values
 * belong.
 */
export function placesIn(text: string, pointers: readonly string[]): Place[] {
  const placeAt = placesOf(text);
  return offsetsOf(text, pointers.map(segmentsOf)).map(placeAt);
}

const segmentsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A pointer in programming notation: `services[0].resources.memory`. */
export const pathOf = (pointer: string): string =>
  segmentsOf(pointer)
    .map((segment, at) => (/^\d+$/.test(segment) ? `[${segment}]` : `${at > 0 ? '.' : ''}${segment}`))
    .join('');

/** Scans the text once, for any number of offsets. */
function placesOf(text: string): (offset: number) => Place {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
