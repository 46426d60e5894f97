/** Owns forms that are shown again: with what was typed, what is wrong with it, and why it was refused. */
import type * as z from 'zod';
import type { WebContext } from '../context.ts';
import { statusOf } from '../error-page.ts';
import { fieldsOf, formOf, type Problems, readFields } from './form.ts';
import { isOperationError } from './notice.ts';

/** What is in a form, and what became of it. */
export interface Entry {
  values: Readonly<Record<string, string>>;
  problems?: Problems;
  /** Why the operation refused it. */
  refused?: string;
  status?: number;
}

/** Does what the form asks, given its fields as the schema has them and as they were typed; or shows it again with what is wrong. */
export async function takeForm<T>(
  c: WebContext,
  schema: z.ZodType<T>,
  again: (entry: Entry) => Response | Promise<Response>,
  act: (value: T, values: Entry['values']) => Promise<Response>,
): Promise<Response> {
  const form = await formOf(c);
  const values = fieldsOf(form);
  const { value, problems } = readFields(schema, form);
  if (problems) return again({ values, problems, status: 400 });
  try {
    return await act(value, values);
  } catch (error) {
    if (!isOperationError(error)) throw error;
    return again({ values, refused: error.message, status: statusOf(error) });
  }
}
