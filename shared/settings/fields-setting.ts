/** Settings that are JSON objects, as schemas. */
import * as z from 'zod';
import { objectIn, unknownNames } from './json-fields.ts';

/**
 * A setting whose text is a JSON object with fields of `schema`, or which is such an object, as a variable of
 * a Worker may be. An unknown field is refused with the name that was probably meant.
 */
export const fieldsSetting = <Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  { kind, form = 'must be a JSON object', defaults = {} }: FieldsOptions,
) =>
  z
    .union([z.string(), z.record(z.string(), z.unknown())], form)
    .prefault('{}')
    .transform((value, context) => {
      const given = typeof value === 'string' ? objectIn(value) : value;
      const problems = given === undefined ? [form] : unknownNames(given, Object.keys(schema.shape), kind);
      for (const problem of problems) context.addIssue(problem);
      const result = schema.safeParse({ ...defaults, ...given });
      for (const { path, message } of result.error?.issues ?? [])
        context.addIssue({ code: 'custom', path, message });
      return result.success ? result.data : z.NEVER;
    });

interface FieldsOptions {
  /** What a field is called in messages. */
  kind: string;
  /** The message about a text that is not an object. */
  form?: string;
  /** Values that take the places of those of the schema. */
  defaults?: object;
}
