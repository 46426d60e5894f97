/**
 * Owns the description that is being written on the start page: whether it can be submitted, and what is wrong at which
 * line. What is valid is the API's to say (operations/executions/submission-input.ts); this only finds the places.
 */
import type { Application, Problem } from '../../../shared/application-schema.ts';
import { OperationError } from '../../core/model/errors.ts';
import { nameProblem, unwrapped, validateDescription } from '../../operations/executions/submission-input.ts';
import type { Problems } from '../components/form.ts';
import { type Fault, pathOf, placesIn, readJson } from './json-text.ts';

/** As it was typed. */
export interface Draft {
  name: string;
  description: string;
}

/** What is wrong in the text, with the path it is about where there is one. */
export interface TextProblem extends Fault {
  path: string;
}

export interface CheckedText {
  /** Where nothing is wrong. `value` is the text's own, which is what gets submitted and kept; `name` is for the execution. */
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
  /** Of the name. */
  problems: Problems;
}

/** What may be submitted, or all that is wrong with it. Without a name of its own it goes by the text's. */
export function checkDraft({ name, description }: Draft): CheckedDraft {
  const text = checkText(description);
  const chosen = name.trim() || (text.valid?.name ?? '');
  const problem = chosen === '' ? undefined : nameProblem(chosen);
  const problems = problem === undefined ? {} : { name: problem };
  if (!text.valid || problem !== undefined) return { text, problems };
  return { body: { name: chosen, application: text.valid.value }, text, problems };
}
