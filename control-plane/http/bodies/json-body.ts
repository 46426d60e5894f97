/** Parses the JSON of a body, plain or URL-encoded, after its depth was checked. */
import { depthProblem } from '../../../shared/json-depth.ts';
import { type Steps, TURN_UNITS } from '../../../shared/steps.ts';
import { OperationError } from '../../core/model/errors.ts';
import { decodedText, spacedText } from './body-bytes.ts';

/** The value, whatever the content type. It may be URL-encoded, as the reference clients send it. */
export function* jsonSteps(bytes: Uint8Array): Steps<unknown> {
  const text = decodedText(bytes);
  const plain = parse(text);
  yield TURN_UNITS;
  if (!plain.error) return plain.value;
  const decoded = decode(bytes, text);
  if (decoded !== undefined) {
    const { value, error } = parse(decoded);
    yield TURN_UNITS;
    if (!error) return value;
  }
  if (text.trim() === '') throw new OperationError('invalid', 'The body is empty: it must be JSON.');
  throw new OperationError('invalid', `The body is not JSON${placeOf(plain.error)}.`);
}

function parse(text: string): { value?: unknown; error?: SyntaxError } {
  const problem = depthProblem(text);
  if (problem !== undefined) throw new OperationError('invalid', `The body ${problem}.`);
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return { error };
    throw error;
  }
}

/** Undefined if it is not URL-encoded. */
function decode(bytes: Uint8Array, text: string): string | undefined {
  if (!/[%+]/.test(text) && !text.endsWith('=')) return undefined;
  try {
    const decoded = decodeURIComponent(spacedText(bytes));
    return decoded.endsWith('=') ? decoded.slice(0, -1) : decoded;
  } catch {
    return undefined;
  }
}

/** Where the first error is, if the engine reports it: `: see line 3 column 5`. */
function placeOf({ message }: SyntaxError): string {
  const place = / in JSON at .*\((line \d+ column \d+)\)/.exec(message);
  return place ? `: see ${place[1]}` : '';
}
