/** OpenAPI 3.1 document, made from the table of routes. Loaded at the first request for it (API-7). */
import * as z from 'zod';
import { dropSafeBounds } from '../../../shared/application-json-schema.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { API_PATH, NATIVE_PATH, VERSION } from '../../version.ts';
import { KEY_HEADER, REPEAT_HEADER } from '../idempotency.ts';
import { errorSchema } from '../json/schemas.ts';
import { sessionCookieName } from '../request.ts';
import type { Variant } from '../variant.ts';
import { routesOf } from './api-routes.ts';
import type { Route } from './route.ts';

/** Schemas by their ids, to which the document refers. */
type Schemas = Record<string, Record<string, unknown>>;

/** Makes the document of a group, which takes some milliseconds. `apiPath`: where the variant is served. */
export function openApiDocument(variant: Variant, apiPath = API_PATH) {
  const schemas: Schemas = {};
  const paths: Record<string, Record<string, ReturnType<typeof specOf>>> = {};
  for (const operation of routesOf(variant)) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method]: specOf(operation, variant, apiPath, schemas) };
  }
  const responses = errorResponses(variant, schemas);
  Object.assign(schemas.Application ?? {}, { examples: [EXAMPLE] });
  Object.assign(schemas.ServiceDescription ?? {}, { examples: EXAMPLE.services });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: apiPath }],
    paths,
    components: { schemas, securitySchemes: schemesOf(variant), responses },
  };
}

const DESCRIPTION =
  'Runs containerised applications on a cluster of Docker hosts. Every GET also works as HEAD, without a ' +
  'body. The body of a request is parsed as JSON, whatever its content type.';

type Scheme = 'basic' | 'cookie' | 'httpsCookie' | 'personalToken' | 'bearer' | 'refresh';

/** The schemes of which any one gives access; none for public operations. */
function schemesFor({ access, refusesTokens }: Route, { tokens }: Variant): Scheme[] {
  if (access === 'public') return [];
  if (access === 'refresh') return ['basic', 'refresh'];
  return [
    'basic',
    'cookie',
    'httpsCookie',
    ...(refusesTokens ? [] : (['personalToken'] as const)),
    ...(tokens ? (['bearer'] as const) : []),
  ];
}

const BEARER = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const;

const SCHEMES = {
  basic: { type: 'http', scheme: 'basic' },
  cookie: sessionCookie('http', false),
  httpsCookie: sessionCookie('https', true),
  personalToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A personal access token, which may also be sent as the password of HTTP Basic. Reading needs no scope, ' +
      'executions need submit, hosts operate, and users, roles and quotas admin',
  },
  bearer: { ...BEARER, description: 'The access token of oauth/token' },
  refresh: { ...BEARER, description: 'The refresh token of oauth/token, only for new access tokens' },
} as const satisfies Record<Scheme, object>;

function sessionCookie(scheme: string, secure: boolean) {
  return {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookieName(secure),
    description:
      `Over ${scheme}: set by every answer to Basic credentials. Requests that make changes must come from the ` +
      'same site.',
  } as const;
}

function schemesOf({ tokens }: Variant) {
  const { bearer, refresh, ...others } = SCHEMES;
  return { ...others, ...(tokens && { bearer, refresh }) };
}

function specOf(operation: Route, variant: Variant, apiPath: string, schemas: Schemas) {
  const { tag, id, summary, description, query, headers, body, isMadeOnce, isNative } = operation;
  return {
    tags: [tag],
    operationId: id,
    summary,
    description,
    ...(isNative &&
      apiPath !== NATIVE_PATH && { servers: [{ url: NATIVE_PATH, description: "Berth's own path" }] }),
    security: schemesFor(operation, variant).map((scheme) => ({ [scheme]: [] })),
    parameters: [
      ...pathParameters(operation.path),
      ...(query ? parametersOf(query, 'query') : []),
      ...(headers ? parametersOf(headers, 'header') : []),
      ...(isMadeOnce ? parametersOf(keyHeader, 'header') : []),
    ],
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: jsonOf(body, 'input', schemas) } },
      },
    }),
    responses: responsesOf(operation, schemas),
  };
}

const keyHeader = z
  .strictObject({
    [KEY_HEADER]: z
      .string()
      .regex(/^[!-~]{1,255}$/)
      .describe(
        'Chosen by the client, new for each request but its repeats: for 24 hours a repeat with the same path and ' +
          'body makes nothing. It gets the first answer, or 409 if that had a secret',
      ),
  })
  .partial();

const repeatHeader = {
  [REPEAT_HEADER]: {
    schema: { type: 'string' as const, enum: ['true'] },
    description: 'Present if an earlier request with the same Idempotency-Key has made what the answer names',
  },
};

const pathParameters = (path: string) =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path' as const,
    required: true,
    ...parameterOf(path, name),
  }));

function parameterOf(path: string, name: string) {
  if (name === 'group')
    return { schema: TEXT, description: 'Name of a service group, as in the description' };
  if (name === 'token') return { schema: TEXT, description: 'An access token or a refresh token' };
  const [, kind = ''] = path.split('/');
  const description = `Id of the ${KINDS[kind] ?? kind}`;
  return { schema: kind === 'shop' ? TEXT : ID, description };
}

const TEXT = { type: 'string' } as const;
const ID = { type: 'integer', minimum: 1 } as const;
/** What ids are of, where the first word of the path does not name it. */
const KINDS: Readonly<Record<string, string>> = {
  discovery: 'execution',
  registry: 'credentials',
  shop: 'application',
};

type Described = Record<string, unknown> & { description?: string };

/** The document shows the output side, because the input is always text. */
function parametersOf(object: z.ZodType, place: 'query' | 'header') {
  const fields = object instanceof z.ZodPipe ? object.in : object;
  const { properties = {}, required = [] } = z.toJSONSchema(fields as z.ZodType, {
    io: 'output',
    override: dropSafeBounds,
  });
  return Object.entries(properties as Record<string, Described>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: place,
      required: required.includes(name),
      ...(description !== undefined && { description }),
      schema,
    }),
  );
}

/** Schemas with an id are added to `schemas`, to which the result refers. */
function jsonOf(schema: z.ZodType, io: 'input' | 'output', schemas: Schemas): Record<string, unknown> {
  const { $schema, $defs = {}, ...own } = z.toJSONSchema(schema, { io, override: tidied });
  const text = JSON.stringify([own, $defs]).replaceAll('"#/$defs/', '"#/components/schemas/');
  const [json, named] = JSON.parse(text) as [Record<string, unknown>, Schemas];
  Object.assign(schemas, named);
  return json;
}

/** The description of a value that may be null stands beside the choice, where readers of documents look. */
function tidied(context: { jsonSchema: Tidied }): void {
  const { jsonSchema } = context;
  dropSafeBounds(context);
  const [first, ...others] = jsonSchema.anyOf ?? [];
  if (first?.description !== undefined && others.every(({ type }) => type === 'null'))
    jsonSchema.description ??= first.description;
}

interface Tidied {
  anyOf?: Tidied[];
  description?: string;
  type?: unknown;
  minimum?: number;
  maximum?: number;
}

function responsesOf({ answer, access, errors, body, isMadeOnce }: Route, schemas: Schemas) {
  const ofAccess = access !== 'public' ? [401, 403, 429] : [];
  const statuses = [
    400,
    ...errors,
    ...(body ? [413] : []),
    ...(isMadeOnce ? [422] : []),
    ...ofAccess,
    500,
    503,
  ];
  return {
    ...((answer === 'websocket' || answer === 'websocket or file') && {
      101: { description: 'A WebSocket with the subprotocol berth.stream.v1 (docs/streams.md)' },
    }),
    ...(answer !== 'websocket' && {
      200: {
        description: 'Success',
        ...contentOf(answer, schemas),
        ...(isMadeOnce && { headers: repeatHeader }),
      },
    }),
    ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }])),
  };
}

function contentOf(answer: Route['answer'], schemas: Schemas) {
  if (answer === 'empty' || answer === 'websocket') return {};
  if (answer === 'frames') return { content: { 'application/octet-stream': BYTES } };
  if (answer === 'websocket or file')
    return { content: { 'application/octet-stream': BYTES, 'application/x-tar': BYTES } };
  if (answer === 'events') return { content: { 'text/event-stream': { schema: EVENTS } } };
  if (answer === 'log') return { content: { 'text/plain': { schema: { type: 'string' as const } } } };
  return { content: { 'application/json': { schema: jsonOf(answer, 'output', schemas) } } };
}

const BYTES = { schema: {} } as const;

const EVENTS = {
  type: 'string',
  description:
    'Events with JSON data. execution: id, name, user_id and status, which is "deleted" after a deletion. ' +
    'service: id, execution_id, name, status, backend_status and, while its start is prepared, progress. ' +
    'host: id, name and state, which is "removed" after a removal. hello: no event is missed from here on. ' +
    'reset: events were missed, so read everything again. Comments are sent at least every 15 s. The stream ' +
    'ends from time to time; reconnect with Last-Event-ID, as browsers do.',
} as const;

const ERRORS: Record<number, string> = {
  400: 'The request is not valid',
  401: 'Credentials are missing or wrong',
  403: 'The role or the scope of the token does not allow it, or the request comes from another site',
  404: 'The object does not exist, or belongs to another user',
  409: 'The state does not allow the request',
  413: 'The body is too large',
  422: 'The Idempotency-Key was used for another request',
  426: 'The request is no upgrade to a WebSocket',
  429: 'Too many failed logins, event streams, logs, waiting executions or idempotency keys',
  500: 'Berth failed to handle the request',
  503: 'Temporarily unavailable; try again',
};

/** The response of each error, shared by all operations. */
function errorResponses({ statusHeader }: Variant, schemas: Schemas) {
  const text = { required: true, schema: { type: 'string' as const } };
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, description]) => {
      const headers = {
        ...(statusHeader && { Status: { ...text, description: 'The message, in ASCII on one line' } }),
        ...(status === '401' && { 'WWW-Authenticate': text }),
        ...((status === '429' || status === '503') && { 'Retry-After': text }),
      };
      const content = { 'application/json': { schema: jsonOf(errorSchema, 'output', schemas) } };
      return [status, { description, headers, content }];
    }),
  );
}

/** An application for the document: small, valid and useful. */
export const EXAMPLE: Application = {
  name: 'hello',
  version: 3,
  will_end: true,
  size: 1,
  services: [
    {
      name: 'hello',
      image: 'busybox',
      monitor: true,
      total_count: 1,
      essential_count: 1,
      startup_order: 0,
      resources: { memory: { min: 16_777_216, max: 67_108_864 }, cores: { min: 0.1, max: 1 } },
      environment: [['GREETING', 'Hello, {user_name}']],
      volumes: [],
      ports: [],
      command: 'sh -c "echo $GREETING"',
    },
  ],
};
