import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { type AppDeps, createApp } from '../../../control-plane/app.ts';
import { openApiDocument } from '../../../control-plane/http/openapi/document.ts';
import { EXAMPLE } from '../../../control-plane/http/openapi/example.ts';
import { chooseVariant, variants } from '../../../control-plane/http/variants/choose.ts';
import type { Variant } from '../../../control-plane/http/variants/variant.ts';
import { NATIVE_PATH } from '../../../control-plane/version.ts';
import { validateApplication } from '../../../shared/application.ts';
import { routesOf } from '../../support/tools/routes.ts';

interface Operation {
  servers?: [{ url: string }];
  security: Record<string, unknown>[];
  parameters?: { name: string; in: string; schema: Record<string, unknown> }[];
  responses: Record<string, { headers?: Record<string, unknown> }>;
}
interface Document {
  servers: [{ url: string }];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties: Record<string, Record<string, unknown>> }> };
}

/** An app for reading its routes; handlers that need dependencies fail. */
const appOf = (variant: Variant) =>
  createApp({ variant, deploymentName: 'test', log: () => {} } as unknown as AppDeps);

/** The document as clients read it. */
const documentOf = async (group: 'A' | 'B', variant: Variant = variants[group]): Promise<Document> =>
  JSON.parse(JSON.stringify(await openApiDocument(variant, group)));

describe.each(['A', 'B'] as const)('group %s', (group) => {
  test.each(['on', 'off'] as const)(
    'H181: the operations of the document are exactly the routes of the API, with endpoints %s',
    async (endpoints) => {
      const variant = chooseVariant(group, endpoints);
      const { paths, servers } = await documentOf(group, variant);
      const all = Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => {
          const [{ url }] = operation.servers ?? servers;
          return `${method.toUpperCase()} ${url}${path}`;
        }),
      );
      const [own, described] = [
        all.filter((one) => one.includes(' /native/')),
        all.filter((one) => !one.includes(' /native/')),
      ];
      const routes = routesOf(group, variant).map(
        ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
      );
      const ofApi = routes.filter((route) => route.includes(' /api/'));
      expect(described.sort()).toEqual(ofApi.sort());
      const native = appOf(variant).routes.map(
        ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
      );
      expect(own.map((one) => one.replace(NATIVE_PATH, '')).sort()).toEqual([
        'DELETE /token/{id}',
        'GET /audit',
        'GET /host/{id}/usage',
        'GET /service/{id}/usage',
        'GET /shop',
        'GET /shop/{id}',
        'GET /token',
        'POST /shop/{id}',
        'POST /token',
      ]);
      expect(native).toEqual(expect.arrayContaining(own));
      expect(routes.filter((route) => !route.includes(' /api/')).sort()).toEqual([
        'GET /agent/berth-agent.mjs',
        'GET /agent/berth-agent.mjs.sha256',
        'GET /agent/install.sh',
        'GET /agent/release.json',
        'GET /agent/v1/credentials',
        'GET /agent/v1/secrets',
        'GET /apps/ask',
        'GET /docs',
        'GET /docs/initialise.js',
        'GET /docs/page.css',
        'GET /docs/{name}',
        'GET /healthz',
        'GET /metrics',
        'GET /native/openapi.json',
        'GET /openapi.json',
        'GET /readyz',
        'GET /schema/application-3.json',
        'POST /agent/v1/register',
      ]);
    },
  );

  test('H441: exactly the operations that make something once document the key, 422 and the header of repeats', async () => {
    const { paths } = await documentOf(group);
    const all = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, ...operation })),
    );
    const namesWith = (has: (operation: Operation) => unknown) =>
      all
        .filter(has)
        .map(({ name }) => name)
        .sort();
    const ofAccounts = group === 'B' ? ['post /quota', 'post /role', 'post /user'] : [];
    const expected = ['post /execution', 'post /host/token', ...ofAccounts, 'post /token'].sort();
    const hasKey = ({ parameters = [] }: Operation) =>
      parameters.some(({ name }) => name === 'Idempotency-Key');
    expect(namesWith(hasKey)).toEqual(expected);
    expect(namesWith(({ responses }) => responses['422'])).toEqual(expected);
    expect(namesWith(({ responses }) => responses['200']?.headers?.['Idempotent-Replayed'])).toEqual(
      expected,
    );
  });

  test('H180: the document has the words and types of the group', async () => {
    const { components, paths } = await documentOf(group);
    const { status, user_id } = components.schemas.Execution?.properties ?? {};
    expect(status?.enum).toContain(group === 'A' ? 'scheduled' : 'queued');
    expect(status?.enum).toHaveLength(7);
    expect(user_id?.type).toBe(group === 'A' ? 'string' : 'integer');
    expect(Object.keys(components.schemas.Login?.properties ?? {})).toEqual(
      group === 'A' ? ['role', 'uid'] : ['user'],
    );
    const filters = paths['/execution']?.get?.parameters ?? [];
    expect(filters.map(({ name, schema }) => [name, schema.type])).toEqual([
      ['status', 'string'],
      ['name', 'string'],
      ['user_id', 'string'],
      ['limit', 'integer'],
      ...['earlier', 'later'].flatMap((side) =>
        ['submit', 'start', 'end'].map((time) => [`${side}_than_${time}`, 'number']),
      ),
    ]);
  });
});

test('H180: every example in the document is valid', async () => {
  const document = await documentOf('B');
  const ajv = new Ajv2020({ allowUnionTypes: true }).addVocabulary(Object.keys(document));
  ajv.addSchema(document, 'document');
  const pointers = pointersToExamples(document);
  expect(pointers.length).toBeGreaterThan(5);
  for (const [pointer, examples] of pointers) {
    const validate = ajv.getSchema(`document#${pointer}`);
    for (const example of examples)
      expect([pointer, validate?.(example), validate?.errors]).toEqual([pointer, true, null]);
  }
  expect(validateApplication(EXAMPLE).valid).toBe(true);
});

/** Pointers to the schemas with examples, each with its examples. */
function pointersToExamples(value: unknown, pointer = ''): [string, unknown[]][] {
  if (typeof value !== 'object' || value === null) return [];
  const own: [string, unknown[]][] = 'examples' in value ? [[pointer, value.examples as unknown[]]] : [];
  const nested = Object.entries(value).flatMap(([key, one]) => {
    const part = encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
    return key === 'examples' ? [] : pointersToExamples(one, `${pointer}/${part}`);
  });
  return [...own, ...nested];
}

test.each(['zoe-2018.12', 'zoe-2017.12'] as const)(
  'H180, H186: %s is the API of another platform, and has the document of the own path alone',
  async (name) => {
    for (const path of ['/openapi.json', '/docs', '/docs/swagger-ui.css']) {
      expect((await appOf(variants[name]).request(path)).status).toBe(404);
    }
    expect((await appOf(variants[name]).request('/native/openapi.json')).status).toBe(200);
  },
);

test.each(['A', 'B', 'zoe-2018.12', 'zoe-2017.12'] as const)(
  'H304: %s serves the JSON Schema of descriptions that is also in docs',
  async (name) => {
    const reply = await appOf(variants[name]).request('/schema/application-3.json');
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual(JSON.parse(await readFile('docs/application-3.schema.json', 'utf8')));
  },
);

test.each(['A', 'B', 'zoe-2018.12', 'zoe-2017.12'] as const)(
  "H630: %s has secrets and files at the API's own paths, unless it is another platform's",
  (group) => {
    const routes = routesOf(group).map(({ method, path }) => `${method} ${path}`);
    const ofSecrets = routes.filter((route) => / \/api\/0\.7\/(secret|file|registry)(\/|$)/.test(route));
    const kinds = ['secret', 'file', 'registry'].flatMap((kind) =>
      [`POST x`, `GET x`, `DELETE x/:id`].map((route) => route.replace('x', `/api/0.7/${kind}`)),
    );
    const expected = group === 'A' || group === 'B' ? [...kinds, 'POST /api/0.7/secret/encrypt'] : [];
    expect(ofSecrets.sort()).toEqual(expected.sort());
  },
);

test.each(['A', 'B', 'zoe-2018.12', 'zoe-2017.12'] as const)('H234: %s has the routes of hosts', (group) => {
  const routes = routesOf(group).map(({ method, path }) => `${method} ${path}`);
  const [all, one] = ['/api/0.7/host', '/api/0.7/host/:id'];
  expect(routes).toEqual(
    expect.arrayContaining([`GET ${all}`, `GET ${one}`, `POST ${one}`, `DELETE ${one}`]),
  );
});
