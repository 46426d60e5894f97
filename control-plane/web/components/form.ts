/**
 * Parses forms: URL-encoded, in UTF-8. Only the first value of a field counts, except where a list is read.
 */
import type * as z from 'zod';
import { schemaMessage } from '../../../shared/application-words.ts';
import type { WebContext } from '../context.ts';

/** Much more than any form needs, except one with a description. */
const FORM_BYTES = 64 * 1024;
/** A form is shown again with what was typed, which takes longer to write than to read. */
const DESCRIPTION_FORM_BYTES = 512 * 1024;

/** The fields that the request sent. */
export const formOf = (c: WebContext): Promise<URLSearchParams> => c.get('bodies').form(c, FORM_BYTES);

export const descriptionFormOf = (c: WebContext): Promise<URLSearchParams> =>
  c.get('bodies').form(c, DESCRIPTION_FORM_BYTES);

/** Each field with its first value. */
export function fieldsOf(form: URLSearchParams): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of form) if (!fields.has(name)) fields.set(name, value);
  return Object.fromEntries(fields);
}

/** More than any name has. */
const MAX_NAME_LENGTH = 1000;

/**
 * The name in a form with a description. A longer one than any that is valid is cut, because the form is
 * shown again with it. The ellipsis makes sure that what is left of it is invalid as well.
 */
export function nameIn(form: URLSearchParams): string {
  const typed = form.get('name') ?? '';
  // Blanks around a text don't count: what they leave of it could be valid.
  const text = typed.length > MAX_NAME_LENGTH ? typed.trim() : typed;
  return text.length > MAX_NAME_LENGTH ? `${text.slice(0, MAX_NAME_LENGTH).toWellFormed()}…` : text;
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
