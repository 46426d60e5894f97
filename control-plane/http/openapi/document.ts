/**
 * Owns the OpenAPI 3.1 document of the API, made from the schemas that read requests and from the shapes of answers.
 * Loaded when somebody first asks for it: nobody else pays for it.
 */
import { Hono } from 'hono';
import { describeRoute, generateSpecs, resolver } from 'hono-openapi';
import * as z from 'zod';
import { dropSafeBounds } from '../../../shared/application-json-schema.ts';
import { API_VERSION, VERSION } from '../../version.ts';
import { errorSchema, type Group } from '../json/schemas.ts';
import { COOKIE } from '../request.ts';
import type { Variant } from '../variants/variant.ts';
import { EXAMPLE } from './example.ts';
import type { Operation, Scheme } from './operation.ts';
import { operationsOf } from './operations.ts';

type Spec = Parameters<typeof describeRoute>[0];
type Responses = NonNullable<Spec['responses']>;

/** The document of a group. Takes some milliseconds. */
export async function openApiDocument(variant: Variant, group: Group) {
  const routes = new Hono();
  for (const operation of operationsOf(variant, group)) {
    routes.on(operation.method.toUpperCase(), operation.path, describeRoute(specOf(operation)), (c) =>
      c.body(null),
    );
  }
  const document = await generateSpecs(routes, {
    documentation: {
      info: { title: 'Berth', version: VERSION, description: DESCRIPTION },
      servers: [{ url: `/api/${API_VERSION}` }],
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
  'Runs containerised applications on a cluster of Docker hosts. Wherever there is GET there is HEAD, ' +
  'without the body. A body is JSON whatever its content type says.';

const BEARER = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const;

const SCHEMES = {
  basic: { type: 'http', scheme: 'basic' },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: COOKIE,
    description:
      'Set by any answer to Basic credentials; what changes something must come from the same site.',
  },
  bearer: { ...BEARER, description: 'The access token of oauth/token' },
  refresh: { ...BEARER, description: 'The refresh token of oauth/token; for new access tokens only' },
} as const satisfies Record<Scheme, object>;

function schemesOf({ tokens }: Variant) {
  const { bearer, refresh, ...others } = SCHEMES;
  return { ...others, ...(tokens && { bearer, refresh }) };
}

function specOf(operation: Operation): Spec {
  const { access, tag, summary, query, headers, body } = operation;
  return {
    tags: [tag],
    summary,
    security: access.map((scheme) => ({ [scheme]: [] })),
    parameters: [
      ...pathParameters(operation.path),
      ...(query ? parametersOf(query, 'query') : []),
      ...(headers ? parametersOf(headers, 'header') : []),
    ],
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: jsonOf(body, 'input') } } },
    }),
    responses: responsesOf(operation),
  };
}

const pathParameters = (path: string) =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path' as const,
    required: true,
    schema: name === 'id' ? ({ type: 'integer', minimum: 1 } as const) : ({ type: 'string' } as const),
  }));

/** Their text is read into what is told here. */
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

function responsesOf({ answer, access, errors }: Operation): Responses {
  const statuses = [...errors, ...(access.length > 0 ? [401, 403, 429] : []), 500, 503];
  return {
    200: { description: 'Success', ...contentOf(answer) },
    ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }])),
  };
}

function contentOf(answer: Operation['answer']) {
  if (answer === 'empty') return {};
  if (answer === 'events') return { content: { 'text/event-stream': { schema: EVENTS } } };
  if (answer === 'log') return { content: { 'text/plain': { schema: { type: 'string' as const } } } };
  return { content: { 'application/json': { schema: jsonOf(answer, 'output') } } };
}

const EVENTS = {
  type: 'string',
  description:
    'Events with JSON in their data. execution: id, name, user_id, status, which is deleted after a deletion. ' +
    'service: id, execution_id, name, status, backend_status and, while its start is prepared, progress. host: id, ' +
    'name, state, which is removed after a removal. hello: nothing is missed from here on. reset: something was ' +
    'missed, read everything again. Comments come at least every 15 s. The stream ends now and then; come back ' +
    'with Last-Event-ID, as browsers do by themselves.',
} as const;

const ERRORS: Record<number, string> = {
  400: 'Malformed',
  401: 'No or wrong credentials',
  403: 'The role does not allow it, or the request comes from another site',
  404: "Unknown, or another user's",
  409: 'Conflicts with the state',
  413: 'The body is too large',
  429: 'Too many failed logins, streams of events, or logs',
  500: 'Berth failed at this',
  503: 'Out of reach for the moment; try again',
};

/** The response of each error, which all operations share. */
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
