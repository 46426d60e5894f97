/** Parses input by its schema, and reports every problem at once with the name of its field. */
import * as z from 'zod';
import { schemaMessage } from '../../shared/application-words.ts';
import { count, listText } from '../core/model/text.ts';

/**
 * Returns the parsed value, or all problems as text. `what` names the input if a problem belongs to no field.
 */
export function readInput<T>(
  schema: z.ZodType<T>,
  value: unknown,
  what: string,
): { data: T; problems?: undefined } | { data?: undefined; problems: string } {
  const result = schema.safeParse(withShortLists(value), { error: schemaMessage });
  if (result.success) return { data: result.data };
  const { issues } = result.error;
  const problems = issues
    .slice(0, MAX_PROBLEMS)
    .map((issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownFields(issue.keys, schema, what)
        : `${issue.path.join('/') || what}: ${issue.message}`,
    );
  const more = issues.length - problems.length;
  return { problems: [...problems, ...(more > 0 ? [`and ${count(more, 'more problem')}`] : [])].join('; ') };
}

/** Problems in words; no input has as many fields. */
const MAX_PROBLEMS = 20;
/** No list of any input may be as long: enough entries for the schema to refuse it. */
const MAX_ENTRIES = 1_001;

/** Cuts the lists among the fields, because every entry may be a problem. */
function withShortLists(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (!Object.values(value).some(isTooLong)) return value;
  const long = Object.entries(value).filter(([, one]) => isTooLong(one));
  return { ...value, ...Object.fromEntries(long.map(([key, one]) => [key, one.slice(0, MAX_ENTRIES)])) };
}

const isTooLong = (value: unknown): boolean => Array.isArray(value) && value.length > MAX_ENTRIES;

/** Bounds messages about unknown fields, because callers choose the names. */
const MAX_NAME_LENGTH = 40;
/** Names that are shown; the others are counted. */
const MAX_NAMES = 3;

function unknownFields(keys: readonly string[], schema: z.ZodType, what: string): string {
  const shown = keys.slice(0, MAX_NAMES).map((key) => key.slice(0, MAX_NAME_LENGTH).toWellFormed());
  const names = listText([...shown, ...keys.slice(MAX_NAMES)], MAX_NAMES);
  const noun = `${what === 'filter' || what === 'query' ? 'parameter' : 'field'}${keys.length === 1 ? '' : 's'}`;
  const known = fieldsOf(schema);
  if (known.length === 0) return `${names}: unknown ${noun}`;
  return `${names}: unknown ${noun}; known: ${listText(known, known.length)}`;
}

function fieldsOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return schema instanceof z.ZodPipe ? fieldsOf(schema.in) : [];
}
