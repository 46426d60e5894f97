/**
 * Checks a description while a user writes it: whether it can be submitted, and the line of each problem.
 * Validity is decided by the API's own checks (operations/executions/submission-input.ts); this file only
 * locates problems.
 */
import type { Application, Problem } from '../../../shared/application-schema.ts';
import { OperationError } from '../../core/model/errors.ts';
import { nameProblem, unwrapped, validateDescription } from '../../operations/executions/submission-input.ts';
import type { Problems } from '../components/form.ts';
import { type Fault, pathOf, placesIn, readJson } from './json-text.ts';

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

export function checkText(text: string): CheckedText {
  const read = readJson(text);
  if (read.faults) return { problems: read.faults.map((fault) => ({ ...fault, path: '' })) };
  const { value, at, name } = unwrapped(read.value);
  const { application, problems } = checkDescription(read.value);
  if (application) {
    const given = typeof name === 'string' && name !== '' ? name : application.name;
    return { valid: { application, value, name: given }, problems: [] };
  }
  const placeOf = placesIn(text);
  const placed = problems.map(({ pointer, message }) => ({
    ...placeOf(at + pointer),
    path: pathOf(pointer),
    message,
  }));
  return { problems: placed.sort((a, b) => a.line - b.line || a.column - b.column) };
}

export function checkDescription(value: unknown): {
  application?: Application;
  problems: readonly Problem[];
} {
  try {
    return { application: validateDescription(value), problems: [] };
  } catch (error) {
    if (!(error instanceof OperationError) || !error.details) throw error;
    return { problems: error.details as readonly Problem[] };
  }
}

export type Submittable = { name: string; application: unknown };

export interface CheckedDraft {
  body?: Submittable;
  text: CheckedText;
  /** Problems of the name. */
  problems: Problems;
}

/** The body to submit, or all problems. An empty name falls back to the name in the text. */
export function checkDraft({ name, description }: Draft): CheckedDraft {
  const text = checkText(description);
  const chosen = name.trim() || (text.valid?.name ?? '');
  const problem = chosen === '' ? undefined : nameProblem(chosen);
  const problems = problem === undefined ? {} : { name: problem };
  if (!text.valid || problem !== undefined) return { text, problems };
  return { body: { name: chosen, application: text.valid.value }, text, problems };
}
