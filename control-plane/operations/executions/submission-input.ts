/** Parses submissions and drafts: the body, the name, and the application description inside. */
import * as z from 'zod';
import { type Validation, validationSteps } from '../../../shared/application.ts';
import { type Application, shareSchema } from '../../../shared/application-schema.ts';
import { schemaMessage } from '../../../shared/application-words.ts';
import { finish, type Steps, TURN_UNITS } from '../../../shared/steps.ts';
import { OperationError } from '../../core/model/errors.ts';
import { count } from '../../core/model/text.ts';
import { MAX_TIME_LIMIT_S } from '../../core/model/time-limit.ts';
import { readInput } from '../input.ts';
import type { KnownDescriptions } from './known-descriptions.ts';

export const timeLimit = z
  .int()
  .min(1)
  .max(MAX_TIME_LIMIT_S)
  .describe('Seconds from its placement on, after which it is stopped; by default as its quota states');

/** The name of an execution. */
export const nameOf = (maxLength: number, characters = /^[^\p{Cc}\p{Cs}]*$/u) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .regex(characters, 'must not contain control characters or half a surrogate pair')
    .describe('A name for the execution, which need not be unique')
    .meta({ examples: ['my hello'] });

/** `application` is validated separately, because its problems carry JSON pointers. */
export const submissionSchema = z.object({
  name: nameOf(128),
  application: z.unknown(),
  time_limit: timeLimit.optional(),
  share: shareSchema.describe('"users" is the same as "share": "users" in the description').optional(),
});

/** A change of the time limit; null removes it. */
export const timeLimitSchema = z.strictObject({ time_limit: timeLimit.nullable() });

/** The body of a request for an explanation, which needs no name. */
export const draftSchema = submissionSchema.extend({ name: submissionSchema.shape.name.default('draft') });

/** A valid submission; `description` is the application as the body had it, as JSON text. */
export interface SubmissionInput {
  name: string;
  application: Application;
  description: string;
  timeLimitS?: number | undefined;
}

/**
 * Throws `invalid` with every problem of the body, or else of the description. A description among `known` is
 * valid; a valid one becomes known.
 */
export const submissionSteps = (
  body: unknown,
  known?: KnownDescriptions,
  schema = submissionSchema,
): Steps<SubmissionInput> => inputSteps(schema, body, known);
export const draftSteps = (body: unknown): Steps<SubmissionInput> => inputSteps(draftSchema, body);

function* inputSteps(
  schema: typeof submissionSchema | typeof draftSchema,
  body: unknown,
  known?: KnownDescriptions,
): Steps<SubmissionInput> {
  const { data, problems } = readInput<z.output<typeof schema>>(schema, body, 'body');
  if (problems !== undefined)
    throw new OperationError(
      'invalid',
      `The body must be {"name": text, "application": object}. ${problems}`,
    );
  const { name, time_limit: timeLimitS } = data;
  const application = sharedAs(data.share, data.application);
  const text = known && JSON.stringify(application);
  const found = text === undefined ? undefined : known?.find(text);
  if (text !== undefined && found) return { name, application: found, description: text, timeLimitS };
  const valid = validApplication(yield* validationSteps(application));
  yield TURN_UNITS;
  const description = text ?? JSON.stringify(application);
  known?.add(description, valid);
  return { name, application: valid, description, timeLimitS };
}

/** The description with what the body states beside it. */
const sharedAs = (share: Application['share'], application: unknown): unknown =>
  share === undefined || typeof application !== 'object' || application === null || Array.isArray(application)
    ? application
    : { ...application, share };

/** The same for a body that is in memory already. */
export const submissionOf = async (body: unknown): Promise<SubmissionInput> => finish(submissionSteps(body));
export const draftInputOf = async (body: unknown): Promise<SubmissionInput> => finish(draftSteps(body));

/** What is wrong with the name of an execution; undefined if it is valid. */
export const nameProblem = (name: string): string | undefined =>
  submissionSchema.shape.name.safeParse(name, { error: schemaMessage }).error?.issues[0]?.message;

/** Checks a description, wrapped in {"application": ...} or bare. Public (api: app_validate). */
export function* descriptionSteps(body: unknown): Steps<Application> {
  return validApplication(yield* validationSteps(unwrapped(body).value));
}

/** The description itself, its JSON pointer in the body, and the name that the body gives the execution. */
export function unwrapped(body: unknown): { value: unknown; at: '' | '/application'; name?: unknown } {
  const wrapped = typeof body === 'object' && body !== null && 'application' in body && !('services' in body);
  if (!wrapped) return { value: body, at: '' };
  return { value: body.application, at: '/application', ...('name' in body && { name: body.name }) };
}

/** Throws `invalid` with the problems and their JSON pointers. */
function validApplication(validation: Validation): Application {
  if (validation.valid) return validation.application;
  const { problems, more } = validation;
  const sentences = problems.map(({ pointer, message }) => `${pointer || '(document)'}: ${message}`);
  if (more > 0) sentences.push(`and at least ${count(more, 'more problem')}`);
  throw new OperationError('invalid', `The application description is not valid. ${sentences.join('; ')}`, {
    details: problems,
  });
}
