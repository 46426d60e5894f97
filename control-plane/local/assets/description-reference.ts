/**
 * Renders the reference of the description format in docs/user-guide.md and the file
 * docs/application-3.schema.json, both from the schema. `npm run docs` writes them. A test fails while the
 * files differ from the rendered text.
 */
import {
  applicationJsonSchema,
  CHECKS_ACROSS_FIELDS,
  type JsonSchema,
} from '../../../shared/application-json-schema.ts';

/** The text of docs/application-3.schema.json. */
export const schemaFileText = (): string => `${JSON.stringify(applicationJsonSchema(), null, 2)}\n`;

/** The guide with fresh references between its markers. */
export function withReference(guide: string): string {
  const filled = between(guide, 'application-reference', referenceText());
  return between(filled, 'application-checks', checksText());
}

/** Throws if the guide does not have both markers, in order. */
function between(guide: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->\n`, `<!-- ${name}:end -->`];
  const from = guide.indexOf(begin);
  const to = guide.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`docs/user-guide.md needs the markers ${begin.trim()} and ${end}`);
  return `${guide.slice(0, from)}${begin}\n${text}\n${guide.slice(to)}`;
}

const checksText = (): string => CHECKS_ACROSS_FIELDS.map((check) => `- ${markdown(check)}.\n`).join('');

/** A table for the application, and one for each kind of object in its lists. */
function referenceText(): string {
  const root = applicationJsonSchema();
  const definitions = root.$defs ?? {};
  const sections: string[] = [];
  const pending: [heading: string, schema: JsonSchema][] = [['Application', root]];
  for (const [heading, schema] of pending) {
    const rows = rowsOf(schema, '', (list, item) => {
      const entry = resolve(item, definitions);
      if (entry.type !== 'object') return;
      pending.push([`${entry.title}: an entry of \`${list}\``, entry]);
    });
    sections.push(
      `### ${heading}\n\n| field | type | required | meaning |\n|---|---|---|---|\n${rows.join('')}`,
    );
  }
  return sections.join('\n');
}

/** A row for each field of an object, each followed by the rows of an object within. */
function rowsOf(
  schema: JsonSchema,
  prefix: string,
  onList: (name: string, item: JsonSchema) => void,
): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const field = value as JsonSchema;
    const name = prefix + key;
    const required = schema.required?.includes(key) ? 'yes' : 'no';
    const row = `| \`${name}\` | ${typeText(field)} | ${required} | ${markdown(field.description ?? '')} |\n`;
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

/** Marks names of fields, references and quoted values as code. */
const markdown = (text: string): string =>
  text.replace(
    /\[.*\]|"([^"]*)"|\{\w+\}|\/mnt\/<name>|\/dev\/shm|<name>\d|\b[a-z]+_[a-z_]+\b/g,
    (code, quoted: string | undefined) => `\`${quoted ?? code}\``,
  );
