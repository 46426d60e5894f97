import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { type AppDeps, createApp } from '../../../control-plane/app.ts';
import { EXAMPLE, openApiDocument } from '../../../control-plane/http/api/document.ts';
import type { Variant } from '../../../control-plane/http/variant.ts';
import { chooseVariant, variants } from '../../../control-plane/http/variants/choose.ts';
import { native } from '../../../control-plane/http/variants/native.ts';
import { API_PATH, NATIVE_PATH } from '../../../control-plane/version.ts';
import { validateApplication } from '../../../shared/application.ts';
import { routesOf } from '../../support/tools/routes.ts';

interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
}
interface Media {
  content?: Record<string, { schema: Schema }>;
}
interface Operation extends Record<'operationId' | 'summary' | 'description', string> {
  servers?: [{ url: string }];
  security: Record<string, unknown>[];
  parameters?: { name: string; in: string; description?: string; schema: Record<string, unknown> }[];
  requestBody?: Media;
  responses: Record<string, Media & { headers?: Record<string, unknown> }>;
}
interface Document {
  info: { license: { identifier: string } };
  servers: [{ url: string }];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, { properties: Record<string, Record<string, unknown>> }>;
    securitySchemes: Record<string, { in?: string; name?: string }>;
  };
}

const GROUPS = ['A', 'B', 'zoe-2018.12', 'zoe-2017.12'] as const;

/** An app for reading its routes; handlers that need dependencies fail. */
const appOf = (variant: Variant) =>
  createApp({ variant, deploymentName: 'test', log: () => {} } as unknown as AppDeps);

/** The document as clients read it. */
const documentOf = async (variant: Variant, path = API_PATH): Promise<Document> =>
  JSON.parse(JSON.stringify(openApiDocument(variant, path)));

const documents = [
  ['A', () => documentOf(variants.A)],
  ['B', () => documentOf(variants.B)],
  ["Berth's own path", () => documentOf(native, NATIVE_PATH)],
] as const;

/** `GET /native/api/0.7/info` for each operation. */
const operationsIn = ({ paths, servers }: Document): string[] =>
  namedIn(paths).map(({ method, path, operation }) => {
    const [{ url }] = operation.servers ?? servers;
    return `${method.toUpperCase()} ${url}${path}`;
  });

const namedIn = (paths: Document['paths']) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );

/** The routes of the app below `path`, in the words of the document, without middleware. */
const routesBelow = (path: string, variant: Variant): string[] => {
  const routes = appOf(variant)
    .routes.filter((route) => route.path.startsWith(path) && route.method !== 'ALL')
    .map((route) => `${route.method} ${route.path.replace(/:(\w+)/g, '{$1}')}`)
    .filter((route) => !route.endsWith('*'));
  return [...new Set(routes)];
};

/** Programs are made from the documents: a change is meant, and its hash stands here. */
const HASHES = {
  A: '6fb9b2414cf7c951',
  B: 'e80e7c1321f7c173',
  "Berth's own path": 'ee73297da9e2dfb4',
} as const;

describe.each(documents)('the document of %s', (name, read) => {
  test('H180: it changes in no byte without its hash here', async () => {
    const text = JSON.stringify(await read());
    expect(createHash('sha256').update(text).digest('hex').slice(0, 16)).toBe(HASHES[name]);
  });

  test('H815: it has all that programs are made from', async () => {
    const { info, paths } = await read();
    expect(info.license.identifier).toBe('Apache-2.0');
    const all = namedIn(paths);
    const ids = all.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operation } of all) {
      const { operationId, summary, description, responses } = operation;
      expect(operationId).toMatch(/^[a-z]+([A-Z][a-z]*)*$/);
      expect([operationId, summary]).toEqual([operationId, expect.stringMatching(/^[A-Z].{5,}/)]);
      expect([operationId, description]).toEqual([operationId, expect.stringMatching(/^[A-Z].{5,}\.$/)]);
      const statuses = Object.keys(responses);
      expect([operationId, statuses.some((one) => /^(2..|101)$/.test(one))]).toEqual([operationId, true]);
      expect([operationId, statuses.some((one) => /^4/.test(one))]).toEqual([operationId, true]);
    }
  });

  test('H816: every field and parameter has a description', async () => {
    const { components, paths } = await read();
    const bodies = namedIn(paths).flatMap(({ method, path, operation }) =>
      [operation.requestBody, ...Object.values(operation.responses)].flatMap((media) =>
        Object.values(media?.content ?? {}).map(({ schema }) => [`${method} ${path}`, schema] as const),
      ),
    );
    const schemas = [...Object.entries(components.schemas as Record<string, Schema>), ...bodies];
    const fields = schemas.flatMap(([name, schema]) => fieldsOf(schema, name));
    const parameters = namedIn(paths).flatMap(({ method, path, operation }) =>
      (operation.parameters ?? []).map((one) => [`${method} ${path} ${one.name}`, one.description] as const),
    );
    expect(fields.length).toBeGreaterThan(200);
    expect(parameters.length).toBeGreaterThan(40);
    const undescribed = [...fields, ...parameters].filter(([, text]) => !/\S/.test(text ?? ''));
    expect(undescribed.map(([name]) => name)).toEqual([]);
  });

  test('H817: it names the cookie as it is, over http and over https', async () => {
    const { components, paths } = await read();
    const cookies = Object.entries(components.securitySchemes).filter(([, one]) => one.in === 'cookie');
    expect(cookies.map(([, { name }]) => name)).toEqual(['berth_session', '__Host-berth_session']);
    for (const { operation } of namedIn(paths)) {
      const schemes = operation.security.flatMap((one) => Object.keys(one));
      const [overHttp, overHttps] = cookies.map(([scheme]) => schemes.includes(scheme));
      expect([operation.operationId, overHttp]).toEqual([operation.operationId, overHttps]);
    }
  });
});

describe.each(['A', 'B'] as const)('group %s', (group) => {
  test('H181: the operations of the document are exactly the routes of the API', async () => {
    const variant = chooseVariant(group);
    const operations = operationsIn(await documentOf(variant));
    const isOwn = (one: string) => one.includes(` ${NATIVE_PATH}/`);
    const routes = routesOf(group, variant).map(
      ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
    );
    const ofApi = routes.filter((route) => route.includes(' /api/'));
    expect(operations.filter((one) => !isOwn(one)).sort()).toEqual(ofApi.sort());
    const ofGroupB = routesBelow(API_PATH, variants.B).map((one) => one.replace(API_PATH, NATIVE_PATH));
    const onlyOwn = routesBelow(NATIVE_PATH, variant).filter((one) => !ofGroupB.includes(one));
    expect(operations.filter(isOwn).sort()).toEqual(onlyOwn.sort());
    const others = `
        /agent/berth-agent.mjs /agent/berth-agent.mjs.sha256 /agent/install.sh /agent/release.json
        /agent/v1/credentials /agent/v1/secrets /apps/ask /docs /docs/initialise.js /docs/page.css
        /docs/{name} /healthz /metrics /native/openapi.json /openapi.json /readyz /schema/application-3.json
      `;
    const read = others
      .trim()
      .split(/\s+/)
      .map((path) => `GET ${path}`);
    const notOfApi = routes.filter((route) => !route.includes(' /api/'));
    expect(notOfApi.sort()).toEqual([...read, 'POST /agent/v1/register']);
  });

  test('H441: exactly the operations that make something once document the key, 422 and the header of repeats', async () => {
    const { paths } = await documentOf(variants[group]);
    const namesWith = (has: (operation: Operation) => unknown) => {
      const found = namedIn(paths).filter(({ operation }) => has(operation));
      return found.map(({ method, path }) => `${method} ${path}`).sort();
    };
    const ofAccounts = group === 'B' ? ['post /quota', 'post /role', 'post /user'] : [];
    const expected = ['post /execution', 'post /host/token', ...ofAccounts, 'post /token'].sort();
    const hasKey = ({ parameters = [] }: Operation) =>
      parameters.some(({ name }) => name === 'Idempotency-Key');
    expect(namesWith(hasKey)).toEqual(expected);
    expect(namesWith(({ responses }) => responses['422'])).toEqual(expected);
    const isRepeated = ({ responses }: Operation) => responses['200']?.headers?.['Idempotent-Replayed'];
    expect(namesWith(isRepeated)).toEqual(expected);
  });

  test('H180: the document has the words and types of the group', async () => {
    const { components, paths } = await documentOf(variants[group]);
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

test.each(GROUPS)(
  "H186: in %s, the operations of the document of Berth's own path are exactly its routes",
  async (name) => {
    const reply = await appOf(variants[name]).request('/native/openapi.json');
    const operations = operationsIn((await reply.json()) as Document);
    expect(operations.sort()).toEqual(routesBelow(NATIVE_PATH, variants[name]).sort());
    expect(operations).toContain('POST /native/api/0.7/execution/{id}');
    expect(operations).toContain('GET /native/api/0.7/execution/{id}/logs');
  },
);

test('H815: the ids of operations are those that programs know', async () => {
  const { paths } = await documentOf(native, NATIVE_PATH);
  const ids = namedIn(paths).map(({ operation }) => operation.operationId);
  expect(ids.sort()).toEqual(
    `
    changeHost changeQuota changeRole changeTimeLimit changeUser copyFiles createJoinToken
    createPersonalToken createQuota createRole createUser deleteExecution deleteQuota deleteRole
    deleteUser discoverServiceGroup encryptSecrets execInService explainApplication explainExecution
    fillInShopApplication followEvents forwardPort getExecution getHost getHostUsage getInfo getQuota
    getRole getSchedulerStatistics getService getServiceUsage getShopApplication getUser
    listAuditEntries listEndpoints listExecutions listFiles listHosts listPersonalTokens listQuotas
    listRegistryCredentials listRoles listSecrets listShopApplications listUsers logIn
    readExecutionLogs readServiceLog removeFile removeHost removeRegistryCredentials removeSecret
    revokePersonalToken setFile setRegistryCredentials setSecret submitExecution terminateExecution
    updateAgent validateApplication
  `
      .trim()
      .split(/\s+/),
  );
});

/** The fields of a schema, and of all within it, each with its description. */
function fieldsOf(schema: Schema, name: string): [name: string, description: string | undefined][] {
  const { properties = {}, items, additionalProperties, anyOf = [] } = schema;
  const within = [items, additionalProperties, ...anyOf].filter((one) => typeof one === 'object');
  return [
    ...Object.entries(properties).flatMap(([key, one]): [string, string | undefined][] => [
      [`${name}.${key}`, one.description],
      ...fieldsOf(one, `${name}.${key}`),
    ]),
    ...within.flatMap((one) => fieldsOf(one, name)),
  ];
}

test('H180: every example in the document is valid', async () => {
  const document = await documentOf(variants.B);
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

describe.each(GROUPS)('%s', (group) => {
  test('H304: it serves the JSON Schema of descriptions that is also in docs', async () => {
    const reply = await appOf(variants[group]).request('/schema/application-3.json');
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual(JSON.parse(await readFile('docs/application-3.schema.json', 'utf8')));
  });

  test("H234, H630: hosts, and unless it is another platform's API secrets and files, are at its own paths", () => {
    const routes = routesOf(group).map(({ method, path }) => `${method} ${path}`);
    const ofSecrets = routes.filter((route) => / \/api\/0\.7\/(secret|file|registry)(\/|$)/.test(route));
    const kinds = ['secret', 'file', 'registry'].flatMap((kind) =>
      [`POST x`, `GET x`, `DELETE x/:id`].map((route) => route.replace('x', `/api/0.7/${kind}`)),
    );
    const expected = group === 'A' || group === 'B' ? [...kinds, 'POST /api/0.7/secret/encrypt'] : [];
    expect(ofSecrets.sort()).toEqual(expected.sort());
    const ofHosts = ['GET x', 'GET x/:id', 'POST x/:id', 'DELETE x/:id'];
    expect(routes).toEqual(
      expect.arrayContaining(ofHosts.map((route) => route.replace('x', '/api/0.7/host'))),
    );
  });
});
