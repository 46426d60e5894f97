/** Parses input by its schema, and reports every problem at once with the name of its field. */
import * as z from 'zod';
import { schemaMessage } from '../../shared/application-words.ts';
import { listText } from '../core/model/text.ts';

/**
 * Returns the parsed value, or all problems as text. `what` names the input if a problem belongs to no field.
 */
export function readInput<T>(
  schema: z.ZodType<T>,
  value: unknown,
  what: string,
): { data: T; problems?: undefined } | { data?: undefined; problems: string } {
  const result = schema.safeParse(value, { error: schemaMessage });
  if (result.success) return { data: result.data };
  const problems = result.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? unknownFields(issue.keys, schema, what)
      : `${issue.path.join('/') || what}: ${issue.message}`,
  );
  return { problems: problems.join('; ') };
}

/** Bounds messages about unknown fields, because callers choose the names. */
const MAX_NAME_LENGTH = 40;

function unknownFields(keys: readonly string[], schema: z.ZodType, what: string): string {
  const names = listText(keys.map((key) => key.slice(0, MAX_NAME_LENGTH)));
  const noun = `${what === 'filter' || what === 'query' ? 'parameter' : 'field'}${keys.length === 1 ? '' : 's'}`;
  const known = fieldsOf(schema);
  if (known.length === 0) return `${names}: unknown ${noun}`;
  return `${names}: unknown ${noun}; known: ${listText(known, known.length)}`;
}

function fieldsOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return schema instanceof z.ZodPipe ? fieldsOf(schema.in) : [];
}
