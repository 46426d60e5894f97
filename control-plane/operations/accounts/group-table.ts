/** The table of settings that gives roles and quotas to members of groups. */
import * as z from 'zod';
import type { GroupRow } from '../../core/accounts/sign-on.ts';

const MAX_ROWS = 1_000;

/** A JSON text with at least one row. */
export const groupTable = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'must be JSON' });
      return z.NEVER;
    }
  })
  .pipe(
    z
      .array(
        z.strictObject({
          group: z.string().min(1),
          role: z.string().min(1),
          quota: z.string().min(1).default('default'),
        }) satisfies z.ZodType<GroupRow>,
      )
      .min(1)
      .max(MAX_ROWS),
  );
