/** Parses JSON that people type: strictly, with the line of every fault. */
import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { depthProblem } from './json-depth.ts';

/** Counted from 1. Columns are in UTF-16 units, as browsers count them. */
export interface Place {
  line: number;
  column: number;
}

export const BEGINNING: Place = { line: 1, column: 1 };

export interface Fault extends Place {
  message: string;
}

/** Faults that are reported: later ones often follow from the first. */
const MAX_SYNTAX_ERRORS = 5;

const STRICT = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };

const LINE_FEED = 0x0a;

const NOT_JSON = 'this is not valid JSON';

const MESSAGES: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this is not JSON, in which texts must be in double quotes',
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
  if (problem !== undefined) return { faults: [{ ...BEGINNING, message: `this JSON ${problem}` }] };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { faults: faultsOf(text) };
  }
}

/** Errors that are examined: a text may have as many as it has characters. */
const MAX_PROBLEMS = 50;

function faultsOf(text: string): Fault[] {
  const errors = errorsIn(text);
  const places = placesOf(
    text,
    errors.map(({ offset }) => offset),
  );
  const faults = errors.map(({ error }, n) => ({
    ...(places[n] ?? BEGINNING),
    message: MESSAGES[printParseErrorCode(error)] ?? NOT_JSON,
  }));
  const first = faults.filter(({ line }, at) => faults.findIndex((other) => other.line === line) === at);
  // JSON.parse refuses some texts that this parser accepts.
  return first.length > 0 ? first.slice(0, MAX_SYNTAX_ERRORS) : [{ ...BEGINNING, message: NOT_JSON }];
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

/** Scans the text once, up to the last of the offsets. A list of its lines could have a million entries. */
export function placesOf(text: string, offsets: readonly number[]): Place[] {
  const places = new Map<number, Place>();
  let [line, start, at] = [1, 0, 0];
  for (const offset of [...offsets].sort((a, b) => a - b)) {
    for (; at < offset; at++) {
      if (text.charCodeAt(at) !== LINE_FEED) continue;
      line += 1;
      start = at + 1;
    }
    places.set(offset, { line, column: offset - start + 1 });
  }
  return offsets.map((offset) => places.get(offset) ?? BEGINNING);
}
