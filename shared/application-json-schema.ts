/**
 * JSON Schema (draft 2020-12) of application descriptions, for editors and other programs (API-15), and the
 * same as tables for people, in docs/user-guide.md and in the web interface. The description of the schema
 * names the checks across fields, which it cannot express. Pure.
 */
import * as z from 'zod';
import { APPLICATION_FORMAT_VERSION, applicationSchema } from './application-schema.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * Checks of application-checks.ts and of texts that JSON Schema cannot express, as sentences without full
 * stop.
 */
export const CHECKS_ACROSS_FIELDS: readonly string[] = [
  'At least one service has "monitor": true',
  'Names of services are unique, upper and lower case being the same, and so are the names of all instances: 11 instances of "web" include "web10", which is also an instance of "web1"',
  'An application has at most 1000 instances in all',
  'The services of an application have at most 10,000 variables, volumes, ports and labels in all',
  'essential_count is at most total_count, and a "max" is at least its "min"',
  'Names of volumes are unique within a service',
  'A health check has exactly one of "http", "tcp", "command" and "image"; its interval is at least 5 with "command" and "image"',
  'No text contains a NUL character or half a surrogate pair',
  'A variable with its name, and each word of the command, have at most 131,071 bytes in UTF-8, because Linux starts no program with more',
  'Quotes of a command are closed, and its last character is not a lone backslash',
  'Every reference in a value or command, such as {user_name}, is to a known variable',
];

export function applicationJsonSchema(): JsonSchema {
  const { $defs = {} } = z.toJSONSchema(applicationSchema, {
    io: 'input',
    override: dropSafeBounds,
  });
  const { Application, ...others } = $defs as Record<string, JsonSchema>;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:berth:application-${APPLICATION_FORMAT_VERSION}`,
    title: `Berth application description, format ${APPLICATION_FORMAT_VERSION}`,
    ...Application,
    description: `Describes the services of an application. Berth also checks across fields: ${CHECKS_ACROSS_FIELDS.join('. ')}.`,
    $defs: others,
  };
}

/** Drops the bounds that zod adds to every integer for the range of safe integers. */
export function dropSafeBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** The fields of a kind of object. Names of fields and other code in texts stand between backticks. */
export interface ReferenceSection {
  heading: string;
  rows: ReferenceRow[];
}

export interface ReferenceRow {
  /** With the names of the objects around it, as in `resources.memory.min`. */
  name: string;
  type: string;
  required: boolean;
  meaning: string;
}

/** The application first, then one section for each kind of object in its lists. */
export function applicationReference(): ReferenceSection[] {
  const root = applicationJsonSchema();
  const definitions = root.$defs ?? {};
  const sections: ReferenceSection[] = [];
  const pending: [heading: string, schema: JsonSchema][] = [['Application', root]];
  for (const [heading, schema] of pending) {
    const rows = rowsOf(schema, '', (list, item) => {
      const entry = resolve(item, definitions);
      if (entry.type !== 'object') return;
      pending.push([`${entry.title}: an entry of \`${list}\``, entry]);
    });
    sections.push({ heading, rows });
  }
  return sections;
}

/** What references in values and commands become. */
export const VARIABLE_REFERENCE: readonly (readonly [references: string, meaning: string])[] = [
  ['`{user_name}`', 'the name of the user who submitted the execution'],
  ['`{execution_id}`, `{execution_name}`', 'id and name of the execution'],
  ['`{deployment_name}`', 'the name of this deployment of Berth'],
  ['`{dns_name#self}`', 'the DNS name of the instance itself'],
  [
    '`{dns_name#<instance>}`',
    'the DNS name of another instance, as in `{dns_name#store0}`; instances count from 0',
  ],
];

/** A row for each field of an object, each followed by the rows of an object within. */
function rowsOf(
  schema: JsonSchema,
  prefix: string,
  onList: (name: string, item: JsonSchema) => void,
): ReferenceRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const field = value as JsonSchema;
    const name = prefix + key;
    const required = schema.required?.includes(key) === true;
    const row = { name, type: typeText(field), required, meaning: withCode(field.description ?? '') };
    if (field.type === 'array') onList(name, field.items as JsonSchema);
    return [row, ...rowsOf(field, `${name}.`, onList)];
  });
}

function resolve(schema: JsonSchema, definitions: NonNullable<JsonSchema['$defs']>): JsonSchema {
  const name = schema.$ref?.replace('#/$defs/', '');
  return name === undefined ? schema : (definitions[name] as JsonSchema);
}

/** The type of a field in words, with its bounds. Throws for an unknown kind of schema. */
function typeText(schema: JsonSchema): string {
  if ('const' in schema) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(' or ');
  if (schema.anyOf) return schema.anyOf.map((one) => typeText(one as JsonSchema)).join(', or ');
  if (Array.isArray(schema.type))
    return schema.type
      .map((type) => typeText({ ...schema, type: type as NonNullable<typeof type> }))
      .join(', or ');
  switch (schema.type) {
    case 'string':
      return `text${bounds(schema.minLength, schema.maxLength, 'character')}`;
    case 'integer':
      return `whole number${bounds(schema.minimum, schema.maximum)}`;
    case 'number':
      return `number${bounds(schema.minimum, schema.maximum)}`;
    case 'array':
      return `list${bounds(schema.minItems, schema.maxItems, 'entry', 'entries')}`;
    case 'boolean':
      return 'true or false';
    case 'null':
      return 'null';
    case 'object':
      return 'object';
    default:
      throw new Error(`the reference has no words for ${JSON.stringify(schema)}`);
  }
}

function bounds(min?: number, max?: number, unit = '', units = `${unit}s`): string {
  const of = (amount: number) => (unit === '' ? `${amount}` : `${amount} ${amount === 1 ? unit : units}`);
  if (min !== undefined && max !== undefined) return `, ${min} to ${of(max)}`;
  if (min !== undefined) return `, at least ${of(min)}`;
  if (max !== undefined) return `, at most ${of(max)}`;
  return '';
}

/** Marks names of fields, references and quoted values as code, between backticks. */
export const withCode = (text: string): string =>
  text.replace(
    /\[.*\]|"([^"]*)"|\{\w+\}|\/mnt\/<name>|\/dev\/shm|<name>\d|\b[a-z]+_[a-z_]+\b/g,
    (code, quoted: string | undefined) => `\`${quoted ?? code}\``,
  );
