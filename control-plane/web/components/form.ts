/**
 * Parses forms: URL-encoded, in UTF-8, at most 1 MiB. Only the first value of a field counts, except where a
 * list is read.
 */
import type * as z from 'zod';
import { schemaMessage } from '../../../shared/application-words.ts';
import { OperationError } from '../../core/model/errors.ts';
import { bodyText } from '../../http/request.ts';
import type { WebContext } from '../context.ts';

/** More fields than any page has. A body holds hundreds of thousands, and reading those takes a second. */
const MAX_FIELDS = 5_000;

export async function formOf(c: WebContext): Promise<URLSearchParams> {
  const text = await bodyText(c);
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS)
    throw new OperationError('invalid', `The form has more than ${MAX_FIELDS} fields.`);
  return new URLSearchParams(text);
}

/** Each field with its first value. */
export function fieldsOf(form: URLSearchParams): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of form) if (!fields.has(name)) fields.set(name, value);
  return Object.fromEntries(fields);
}

/** Problems by field, shown beside the fields. */
export type Problems = Readonly<Record<string, string>>;

/** The fields as the schema parses them, or the problem of each. */
export function readFields<T>(
  schema: z.ZodType<T>,
  form: URLSearchParams,
): { value: T; problems?: undefined } | { value?: undefined; problems: Problems } {
  const result = schema.safeParse(fieldsOf(form), { error: schemaMessage });
  if (result.success) return { value: result.data };
  const problems: Record<string, string> = {};
  for (const { path, message } of result.error.issues) problems[String(path[0] ?? 'form')] ??= message;
  return { problems };
}
