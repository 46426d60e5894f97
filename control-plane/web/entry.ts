/** Owns forms that are shown again: with what was typed, what is wrong with it, and why it was refused. */
import { statusOf } from './error-page.ts';
import type { Problems } from './form.ts';
import { isRefusal } from './notice.ts';

/** What is in a form, and what became of it. */
export interface Entry {
  values: Readonly<Record<string, string>>;
  problems?: Problems;
  /** Why the operation refused it. */
  refused?: string;
  status?: number;
}

/** Does it, or shows the form again with why it was refused. */
export async function orAgain(
  again: (refusal: { refused: string; status: number }) => Response | Promise<Response>,
  act: () => Promise<Response>,
): Promise<Response> {
  try {
    return await act();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return again({ refused: error.message, status: statusOf(error) });
  }
}
