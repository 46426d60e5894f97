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
  const left: LeftOut = new Map();
  const result = schema.safeParse(shortened(schema, value, '', left), { error: schemaMessage });
  if (result.success) return { data: result.data };
  const { issues } = result.error;
  const problems = issues
    .slice(0, MAX_PROBLEMS)
    .map((issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownFields(issue.keys, left.get(issue.path.join('/')) ?? 0, schema, what)
        : `${issue.path.join('/') || what}: ${issue.message}`,
    );
  const more = issues.length - problems.length;
  return { problems: [...problems, ...(more > 0 ? [`and ${count(more, 'more problem')}`] : [])].join('; ') };
}

/** Problems in words; no input has as many fields. */
const MAX_PROBLEMS = 20;
/** No list of any input may be as long: enough entries for the schema to refuse it. */
const MAX_ENTRIES = 1_001;
/** Unknown fields that the schema sees. */
const MAX_UNKNOWN = 100;

/** How many unknown fields were left out, by the path of their object. */
type LeftOut = Map<string, number>;

/** Names that a schema reads besides the fields of its object, because it renames them first. */
export const otherNames = z.registry<readonly string[]>();

/**
 * Cuts lists, because every entry may be a problem, and objects after their known fields and some others: a
 * body has room for 100,000 fields, and each costs a schema more than the parser.
 */
function shortened(
  schema: z.core.$ZodType | undefined,
  value: unknown,
  path: string,
  left: LeftOut,
): unknown {
  if (Array.isArray(value)) return value.length > MAX_ENTRIES ? value.slice(0, MAX_ENTRIES) : value;
  const object = schema && objectOf(schema);
  if (!object || typeof value !== 'object' || value === null) return value;
  const { shape } = object;
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields);
  if (keys.length <= MAX_UNKNOWN && keys.every((key) => isShort(shape[key], fields[key]))) return value;
  const others = otherNames.get(schema) ?? [];
  const names = [...Object.keys(shape), ...others].filter((name) => Object.hasOwn(fields, name));
  // A schema without a rule for unknown fields ignores them.
  const unknown = object.def.catchall
    ? keys.filter((name) => !Object.hasOwn(shape, name) && !others.includes(name))
    : [];
  if (unknown.length > MAX_UNKNOWN) left.set(path, unknown.length - MAX_UNKNOWN);
  const kept = [...names, ...unknown.slice(0, MAX_UNKNOWN)].map((name) => [
    name,
    shortened(shape[name], fields[name], path === '' ? name : `${path}/${name}`, left),
  ]);
  return Object.fromEntries(kept);
}

/** Whether nothing within a field can be cut. Most input is short, and needs no copy. */
const isShort = (schema: z.core.$ZodType | undefined, value: unknown): boolean =>
  Array.isArray(value)
    ? value.length <= MAX_ENTRIES
    : typeof value !== 'object' || value === null || !schema || !objectOf(schema);

/** The object that a schema reads, perhaps after a function has renamed its fields. */
function objectOf(schema: z.core.$ZodType): z.ZodObject | undefined {
  if (schema instanceof z.ZodObject) return schema;
  if (schema instanceof z.ZodOptional) return objectOf(schema.def.innerType);
  return schema instanceof z.ZodPipe ? (objectOf(schema.in) ?? objectOf(schema.out)) : undefined;
}

/** Bounds messages about unknown fields, because callers choose the names. */
const MAX_NAME_LENGTH = 40;
/** Names that are shown; the others are counted. */
const MAX_NAMES = 3;

/** `more` counts those that are not among `keys`. */
function unknownFields(keys: readonly string[], more: number, schema: z.ZodType, what: string): string {
  const shown = keys.slice(0, MAX_NAMES).map((key) => key.slice(0, MAX_NAME_LENGTH).toWellFormed());
  const rest = keys.length + more - shown.length;
  const names = listText(rest > 0 ? [...shown, `${rest} more`] : shown, MAX_NAMES + 1);
  const noun = `${what === 'filter' || what === 'query' ? 'parameter' : 'field'}${keys.length === 1 ? '' : 's'}`;
  const known = fieldsOf(schema);
  if (known.length === 0) return `${names}: unknown ${noun}`;
  return `${names}: unknown ${noun}; known: ${listText(known, known.length)}`;
}

function fieldsOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return schema instanceof z.ZodPipe ? fieldsOf(schema.in) : [];
}
