/**
 * Makes client/api-types.ts, the types of the client, from the schemas of the OpenAPI document. `npm run
 * docs` writes the file, and a test fails while it differs. (openapi-typescript needs TypeScript 5.)
 */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openApiDocument } from '../control-plane/http/api/document.ts';
import { native } from '../control-plane/http/variants/native.ts';
import { NATIVE_PATH } from '../control-plane/version.ts';

/** As far as the document uses JSON Schema. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema | false;
  prefixItems?: Schema[];
  description?: string;
}

const FILE = resolve(import.meta.dirname, '../client/api-types.ts');
const HEAD = `/** Types of the API's objects, made from its OpenAPI document by \`npm run docs\`: do not edit. */\n`;
const MAX_COLUMNS = 110;
/** Names that JavaScript has, too. */
const RENAMED: Record<string, string> = { Error: 'ErrorAnswer' };
/** Types of the bodies of POST requests, by their paths. */
const BODIES: Record<string, string> = {
  HostChanges: '/host/{id}',
  JoinTokenFields: '/host/token',
  PersonalTokenFields: '/token',
  QuotaFields: '/quota',
  QuotaChanges: '/quota/{id}',
  RoleFields: '/role',
  RoleChanges: '/role/{id}',
  UserFields: '/user',
  UserChanges: '/user/{id}',
};

/** The text of client/api-types.ts. */
export async function clientTypesText(): Promise<string> {
  const document = JSON.parse(JSON.stringify(openApiDocument(native, NATIVE_PATH))) as {
    components: { schemas: Record<string, Schema> };
    paths: Record<string, { post?: { requestBody?: { content: Record<string, { schema: Schema }> } } }>;
  };
  const bodies = Object.entries(BODIES).map(([name, path]) => {
    const schema = document.paths[path]?.post?.requestBody?.content['application/json']?.schema;
    if (!schema) throw new Error(`POST ${path} has no body of JSON in the OpenAPI document`);
    return [name, schema] as const;
  });
  return HEAD + typesOf({ ...document.components.schemas, ...Object.fromEntries(bodies) });
}

/** An exported type for each schema, in order of their names. Throws for an unknown kind of schema. */
function typesOf(schemas: Readonly<Record<string, Schema>>): string {
  const named = Object.entries(schemas).map(([name, schema]) => [RENAMED[name] ?? name, schema] as const);
  return named
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `\n${comment(schema, '')}export type ${name} = ${typeOf(schema, '')};\n`)
    .join('');
}

function typeOf(schema: Schema, indent: string): string {
  const { $ref, type, anyOf, items, prefixItems } = schema;
  if ($ref !== undefined) return refName($ref);
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  if (anyOf) return anyOf.map((one) => typeOf(one, indent)).join(' | ');
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one }, indent)).join(' | ');
  if (prefixItems) return `[${prefixItems.map((one) => typeOf(one, indent)).join(', ')}]`;
  if (type === 'array' && items) return `Array<${typeOf(items, indent)}>`;
  if (type === 'object') return objectType(schema, indent);
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  throw new Error(`client/api-types.ts has no type for ${JSON.stringify(schema)}`);
}

function objectType({ properties, required = [], additionalProperties }: Schema, indent: string): string {
  if (typeof additionalProperties === 'object')
    return `Record<string, ${typeOf(additionalProperties, indent)}>`;
  const inner = `${indent}  `;
  const fields = Object.entries(properties ?? {}).map(([name, field]) => {
    const [mark, or] = required.includes(name) ? ['', ''] : ['?', ' | undefined'];
    return `${comment(field, inner)}${inner}${name}${mark}: ${typeOf(field, inner)}${or};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value);

function refName(ref: string): string {
  const name = ref.slice(ref.lastIndexOf('/') + 1);
  return RENAMED[name] ?? name;
}

/** The description, its own or that of what may also be null, as a doc comment. */
function comment({ description, anyOf }: Schema, indent: string): string {
  const text = description ?? anyOf?.find((one) => one.description)?.description;
  if (text === undefined) return '';
  const whole = `${indent}/** ${text} */\n`;
  if (whole.length <= MAX_COLUMNS + 1) return whole;
  const lines = wrapped(text.split(' '), MAX_COLUMNS - indent.length - ' * '.length);
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

function wrapped(words: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

if (import.meta.main) await writeFile(FILE, await clientTypesText());
