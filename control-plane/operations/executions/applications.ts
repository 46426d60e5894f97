/** Owns the use case of checking a description without submitting it. */

import { type Validation, validateApplication } from '../../../shared/application.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { OperationError } from '../../core/model/errors.ts';

/** Problems told at most: enough to mend a description, little enough to answer a hostile one. */
const MAX_PROBLEMS = 100;

/** Checks a description, wrapped in {"application": ...} or bare. Public (api: app_validate). */
export function validateDescription(body: unknown): Application {
  return checkApplication(validateApplication(unwrapped(body).value));
}

/** The description itself, the pointer at which it is in the body, and the name that the body gives the execution. */
export function unwrapped(body: unknown): { value: unknown; at: '' | '/application'; name?: unknown } {
  const wrapped = typeof body === 'object' && body !== null && 'application' in body && !('services' in body);
  if (!wrapped) return { value: body, at: '' };
  return { value: body.application, at: '/application', ...('name' in body && { name: body.name }) };
}

/** The valid application, or an error that names every problem with its JSON pointer. */
export function checkApplication(validation: Validation): Application {
  if (validation.valid) return validation.application;
  const problems = validation.problems.slice(0, MAX_PROBLEMS);
  const sentences = problems.map(({ pointer, message }) => `${pointer || '(document)'}: ${message}`);
  throw new OperationError('invalid', `The application description is not valid. ${sentences.join('; ')}`, {
    details: problems,
  });
}
