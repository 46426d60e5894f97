/**
 * Parses forms: URL-encoded, in UTF-8. Only the first value of a field counts, except where a list is read.
 */
import type * as z from 'zod';
import { schemaMessage } from '../../../shared/application-words.ts';
import { MAX_BODY_BYTES } from '../../http/bodies/body-bytes.ts';
import type { WebContext } from '../context.ts';

/** Much more than the fields of any form need, except for those with a text such as a description. */
const SHORT_FORM_BYTES = 64 * 1024;

/** The fields that the request sent. */
export const formOf = (c: WebContext): Promise<URLSearchParams> => c.get('bodies').form(c, SHORT_FORM_BYTES);

/** The fields of a form whose texts may be as long as a body. */
export const longFormOf = (c: WebContext): Promise<URLSearchParams> =>
  c.get('bodies').form(c, MAX_BODY_BYTES);

/** Each field with its first value. */
export function fieldsOf(form: URLSearchParams): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of form) if (!fields.has(name)) fields.set(name, value);
  return Object.fromEntries(fields);
}

/** More than any name or number that is valid. */
const MAX_SHORT_TEXT = 1000;

/**
 * A field for a name or a number. A megabyte of it is cut, because the form is shown again with it. The
 * ellipsis makes sure that what is left of it is invalid as well.
 */
export function shortText(form: URLSearchParams, name: string): string {
  const typed = form.get(name) ?? '';
  // Blanks around a text don't count: what they leave of it could be valid.
  const text = typed.length > MAX_SHORT_TEXT ? typed.trim() : typed;
  return text.length > MAX_SHORT_TEXT ? `${text.slice(0, MAX_SHORT_TEXT).toWellFormed()}…` : text;
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
