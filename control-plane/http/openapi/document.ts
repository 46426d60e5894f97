/**
 * OpenAPI 3.1 document, made from the schemas of requests and answers. Loaded at the first request for it, to
 * save memory until then (API-7).
 */
import { Hono } from 'hono';
import { describeRoute, generateSpecs, resolver } from 'hono-openapi';
import * as z from 'zod';
import { dropSafeBounds } from '../../../shared/application-json-schema.ts';
import { API_PATH, NATIVE_PATH, VERSION } from '../../version.ts';
import { KEY_HEADER, REPEAT_HEADER } from '../idempotency.ts';
import { errorSchema, type Group } from '../json/schemas.ts';
import { COOKIE } from '../request.ts';
import type { Variant } from '../variants/variant.ts';
import { EXAMPLE } from './example.ts';
import type { Operation, Scheme } from './operation.ts';
import { operationsOf } from './operations.ts';

type Spec = Parameters<typeof describeRoute>[0];
type Responses = NonNullable<Spec['responses']>;

/** Makes the document of a group, which takes some milliseconds. `apiPath`: where the variant is served. */
export async function openApiDocument(variant: Variant, group: Group, apiPath = API_PATH) {
  const routes = new Hono();
  for (const operation of operationsOf(variant, group)) {
    routes.on(
      operation.method.toUpperCase(),
      operation.path,
      describeRoute(specOf(operation, apiPath)),
      (c) => c.body(null),
    );
  }
  const document = await generateSpecs(routes, {
    documentation: {
      info: { title: 'Berth', version: VERSION, description: DESCRIPTION },
      servers: [{ url: apiPath }],
      components: { securitySchemes: schemesOf(variant), responses: errorResponses(variant) },
    },
    defaultValidationErrorResponse: false,
  });
  const { Application, ServiceDescription } = document.components?.schemas ?? {};
  Object.assign(Application ?? {}, { examples: [EXAMPLE] });
  Object.assign(ServiceDescription ?? {}, { examples: EXAMPLE.services });
  return document;
}

const DESCRIPTION =
  'Runs containerised applications on a cluster of Docker hosts. Every GET also works as HEAD, without a ' +
  'body. The body of a request is parsed as JSON, whatever its content type.';

const BEARER = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const;

const SCHEMES = {
  basic: { type: 'http', scheme: 'basic' },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: COOKIE,
    description:
      'Set by every answer to Basic credentials. Requests that make changes must come from the same site.',
  },
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

function schemesOf({ tokens }: Variant) {
  const { bearer, refresh, ...others } = SCHEMES;
  return { ...others, ...(tokens && { bearer, refresh }) };
}

function specOf(operation: Operation, apiPath: string): Spec {
  const { access, tag, summary, query, headers, body, isMadeOnce, isNative } = operation;
  return {
    tags: [tag],
    summary,
    ...(isNative &&
      apiPath !== NATIVE_PATH && { servers: [{ url: NATIVE_PATH, description: "Berth's own path" }] }),
    security: access.map((scheme) => ({ [scheme]: [] })),
    parameters: [
      ...pathParameters(operation.path),
      ...(query ? parametersOf(query, 'query') : []),
      ...(headers ? parametersOf(headers, 'header') : []),
      ...(isMadeOnce ? parametersOf(keyHeader, 'header') : []),
    ],
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: jsonOf(body, 'input') } } },
    }),
    responses: responsesOf(operation),
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
    schema: name === 'id' ? ({ type: 'integer', minimum: 1 } as const) : ({ type: 'string' } as const),
  }));

/** The document shows the output side, because the input is always text. */
function parametersOf(object: z.ZodType, place: 'query' | 'header') {
  const fields = object instanceof z.ZodPipe ? object.in : object;
  const { properties = {} } = z.toJSONSchema(fields as z.ZodType, { io: 'output', override: dropSafeBounds });
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    schema: schema as Record<string, unknown>,
  }));
}

const jsonOf = (schema: z.ZodType, io: 'input' | 'output') =>
  resolver(schema, { options: { io, override: dropSafeBounds } });

function responsesOf({ answer, access, errors, isMadeOnce }: Operation): Responses {
  const ofAccess = access.length > 0 ? [401, 403, 429] : [];
  const statuses = [...errors, ...(isMadeOnce ? [422] : []), ...ofAccess, 500, 503];
  return {
    ...(answer === 'websocket'
      ? { 101: { description: 'A WebSocket with the subprotocol berth.stream.v1 (docs/streams.md)' } }
      : {
          200: { description: 'Success', ...contentOf(answer), ...(isMadeOnce && { headers: repeatHeader }) },
        }),
    ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }])),
  };
}

function contentOf(answer: Operation['answer']) {
  if (answer === 'empty' || answer === 'websocket') return {};
  if (answer === 'events') return { content: { 'text/event-stream': { schema: EVENTS } } };
  if (answer === 'log') return { content: { 'text/plain': { schema: { type: 'string' as const } } } };
  return { content: { 'application/json': { schema: jsonOf(answer, 'output') } } };
}

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
function errorResponses({ statusHeader }: Variant): Responses {
  const text = { required: true, schema: { type: 'string' as const } };
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, description]) => {
      const headers = {
        ...(statusHeader && { Status: { ...text, description: 'The message, in ASCII on one line' } }),
        ...(status === '401' && { 'WWW-Authenticate': text }),
        ...((status === '429' || status === '503') && { 'Retry-After': text }),
      };
      const content = { 'application/json': { schema: jsonOf(errorSchema, 'output') } };
      return [status, { description, headers, content }];
    }),
  );
}
