/**
 * The parts of the documents that are generated from the schema of descriptions, and the templates beside
 * them.
 */
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { schemaFileText, withReference } from '../../../control-plane/local/assets/description-reference.ts';
import { validateApplication } from '../../../shared/application.ts';
import { applicationJsonSchema, type JsonSchema } from '../../../shared/application-json-schema.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { codeBlocksOf } from '../../support/tools/documents.ts';

const REMEDY = 'it is not up to date: run "npm run docs"';
const guide = readFileSync('docs/user-guide.md', 'utf8');
const validator = (): ValidateFunction =>
  new Ajv2020({ allowUnionTypes: true }).compile(applicationJsonSchema());

test('docs/user-guide.md has the generated reference', () => {
  expect(guide === withReference(guide), `docs/user-guide.md: ${REMEDY}`).toBe(true);
});

test('docs/application-3.schema.json is the generated schema', () => {
  const file = readFileSync('docs/application-3.schema.json', 'utf8');
  expect(file === schemaFileText(), `docs/application-3.schema.json: ${REMEDY}`).toBe(true);
});

test('a guide without the markers is refused', () => {
  expect(() => withReference('# Guide')).toThrow(/needs the markers/);
});

test('H305: each field of the JSON Schema has a description', () => {
  const undescribed: string[] = [];
  const visit = (schema: JsonSchema, at: string) => {
    for (const [name, value] of Object.entries(schema.properties ?? {})) {
      const field = value as JsonSchema;
      if (!field.description) undescribed.push(`${at}/${name}`);
      visit(field, `${at}/${name}`);
      if (typeof field.items === 'object') visit(field.items as JsonSchema, `${at}/${name}`);
    }
  };
  const schema = applicationJsonSchema();
  visit(schema, '');
  for (const [name, one] of Object.entries(schema.$defs ?? {})) visit(one as JsonSchema, name);
  expect(undescribed).toEqual([]);
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
});

const full = service({
  environment: [['NAME', '{user_name}']],
  volumes: [{ name: 'data', path: '/srv/data', read_only: true }],
  ports: [{ name: 'Web', port_number: 80, protocol: 'tcp', url_template: 'http://{ip_port}/', proxy: true }],
  labels: ['gpu'],
  work_dir: null,
  network: 'other',
  replicas: 1,
});
const changed = (changes: Record<string, unknown>) => application({ ...full, ...changes } as typeof full);

test('H305: the JSON Schema accepts what Berth accepts', () => {
  const validate = validator();
  expect([validate(application(full)), validate.errors]).toEqual([true, null]);
  expect(validateApplication(application(full)).valid).toBe(true);
});

test.each<[string, unknown]>([
  ['an unknown key', { ...application(full), $schema: 'x' }],
  ['another version', { ...application(full), version: 2 }],
  ['a missing field', changed({ image: undefined })],
  ['a name that is not a DNS label', changed({ name: '-ab' })],
  ['a count of 0', changed({ total_count: 0 })],
  ['a relative path', changed({ volumes: [{ name: 'data', path: 'data', read_only: true }] })],
  ['an unknown protocol', changed({ ports: [{ ...full.ports[0], protocol: 'sctp' }] })],
  ['a variable that is not a pair', changed({ environment: [['NAME']] })],
  ['negative memory', changed({ resources: { ...full.resources, memory: { min: -1, max: null } } })],
])('H305: the JSON Schema refuses %s, as Berth does', (_, description) => {
  const read = JSON.parse(JSON.stringify(description));
  expect([validator()(read), validateApplication(read).valid]).toEqual([false, false]);
});

const templates = codeBlocksOf(guide).filter(({ info }) => info === 'json application');

test('the guide has templates', () => {
  expect(templates.length).toBeGreaterThanOrEqual(5);
});
test.each(templates.map(({ text, line }) => [line, text] as const))(
  'the template at line %i is a valid description',
  (_, text) => {
    const validate = validator();
    expect(validateApplication(JSON.parse(text))).toMatchObject({ valid: true });
    expect([validate(JSON.parse(text)), validate.errors]).toEqual([true, null]);
  },
);
