/** Owns the reading of forms: URL-encoded, each field once unless asked for as a list, in UTF-8, at most 1 MiB. */
import type * as z from 'zod';
import { bodyText } from '../http/request.ts';
import type { WebContext } from './context.ts';

export const formOf = async (c: WebContext): Promise<URLSearchParams> =>
  new URLSearchParams(await bodyText(c));

/** The fields with their first values. */
export const fieldsOf = (form: URLSearchParams): Record<string, string> =>
  Object.fromEntries([...new Set(form.keys())].map((name) => [name, form.get(name) ?? '']));

/** Problems by field, to be shown beside them. */
export type Problems = Readonly<Record<string, string>>;

/** The fields as the schema has them, or what is wrong with each. */
export function readFields<T>(
  schema: z.ZodType<T>,
  form: URLSearchParams,
): { value: T; problems?: undefined } | { value?: undefined; problems: Problems } {
  const result = schema.safeParse(fieldsOf(form));
  if (result.success) return { value: result.data };
  const problems: Record<string, string> = {};
  for (const { path, message } of result.error.issues) problems[String(path[0] ?? 'form')] ??= message;
  return { problems };
}
