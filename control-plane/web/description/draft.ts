/**
 * Checks a description while a user writes it: whether it can be submitted, and the line of each problem.
 * Validity is decided by the API's own checks (operations/executions/submission-input.ts); this file only
 * locates problems.
 */
import type { Problem } from '../../../shared/application-problems.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { BEGINNING, type Fault, readJson } from '../../../shared/json-faults.ts';
import { finish, type Steps, TURN_UNITS } from '../../../shared/steps.ts';
import { OperationError } from '../../core/model/errors.ts';
import { descriptionSteps, nameProblem, unwrapped } from '../../operations/executions/submission-input.ts';
import type { Problems } from '../components/form.ts';
import { pathOf, placeSteps } from './json-places.ts';

/** The fields of the form as typed. */
export interface Draft {
  name: string;
  description: string;
}

/** A problem in the text, with the path of its value if it has one. */
export interface TextProblem extends Fault {
  path: string;
}

export interface CheckedText {
  /**
   * Set if the text has no problem. `value` is the parsed text, which is submitted and stored unchanged;
   * `name` is for the execution.
   */
  valid?: { application: Application; value: unknown; name: string };
  problems: TextProblem[];
}

export const checkText = (text: string): CheckedText => finish(textSteps(text));

/** The same in steps, for large texts. */
export function* textSteps(text: string): Steps<CheckedText> {
  const read = readJson(text);
  yield TURN_UNITS;
  if (read.faults) return { problems: read.faults.map((fault) => ({ ...fault, path: '' })) };
  const { value, at, name } = unwrapped(read.value);
  const { application, problems } = yield* checkSteps(read.value);
  if (application) {
    const given = typeof name === 'string' && name !== '' ? name : application.name;
    return { valid: { application, value, name: given }, problems: [] };
  }
  yield TURN_UNITS;
  const places = yield* placeSteps(
    text,
    problems.map(({ pointer }) => at + pointer),
  );
  const placed = problems.map(({ pointer, message }, n) => ({
    ...(places[n] ?? BEGINNING),
    path: pathOf(pointer),
    message,
  }));
  return { problems: placed.sort((a, b) => a.line - b.line || a.column - b.column) };
}

interface CheckedDescription {
  application?: Application;
  problems: readonly Problem[];
}

export const checkDescription = (value: unknown): CheckedDescription => finish(checkSteps(value));

function* checkSteps(value: unknown): Steps<CheckedDescription> {
  try {
    return { application: yield* descriptionSteps(value), problems: [] };
  } catch (error) {
    if (!(error instanceof OperationError) || !error.details) throw error;
    return { problems: error.details as readonly Problem[] };
  }
}

/** What passed all checks; `value` is the description as it was given. */
export interface Submittable {
  name: string;
  application: Application;
  value: unknown;
}

export interface CheckedDraft {
  body?: Submittable;
  text: CheckedText;
  /** Problems of the name. */
  problems: Problems;
}

/** The body to submit, or all problems. An empty name falls back to the name in the text. */
export function checkDraft(name: string, text: CheckedText): CheckedDraft {
  const chosen = name.trim() || (text.valid?.name ?? '');
  const problem = chosen === '' ? undefined : nameProblem(chosen);
  const problems = problem === undefined ? {} : { name: problem };
  if (!text.valid || problem !== undefined) return { text, problems };
  const { application, value } = text.valid;
  return { body: { name: chosen, application, value }, text, problems };
}
