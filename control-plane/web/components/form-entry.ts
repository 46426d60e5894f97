/** Shows forms again with what was typed, the problem of each field, and the reason for a refusal. */
import type * as z from 'zod';
import type { WebContext } from '../context.ts';
import { statusOf } from '../error-page.ts';
import { fieldsOf, formOf, type Problems, readFields } from './form.ts';
import { isOperationError } from './notice.ts';

/** The values of a form and the outcome of its submission. */
export interface Entry {
  values: Readonly<Record<string, string>>;
  problems?: Problems;
  /** Why the operation refused the submission. */
  refused?: string;
  status?: number;
}

/**
 * Runs `act` with the parsed fields and the fields as typed. Shows the form again if a field is invalid or
 * the operation refuses.
 */
export async function handleForm<T>(
  c: WebContext,
  schema: z.ZodType<T>,
  showAgain: (entry: Entry) => Response | Promise<Response>,
  act: (value: T, values: Entry['values']) => Promise<Response>,
): Promise<Response> {
  const form = await formOf(c);
  const values = fieldsOf(form);
  const { value, problems } = readFields(schema, form);
  if (problems) return showAgain({ values, problems, status: 400 });
  try {
    return await act(value, values);
  } catch (error) {
    if (!isOperationError(error)) throw error;
    return showAgain({ values, refused: error.message, status: statusOf(error) });
  }
}
