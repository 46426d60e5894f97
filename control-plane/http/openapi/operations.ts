/**
 * Operations of the API for the OpenAPI document: access, input, answer and errors of each. Routes are
 * defined in routes/.
 */
import * as z from 'zod';
import { applicationSchema } from '../../../shared/application-schema.ts';
import { draftSchema, submissionSchema } from '../../operations/executions/submission-input.ts';
import { executionFilters } from '../json/execution-filter-query.ts';
import { eventQuery, grantSchema } from '../json/request-schemas.ts';
import {
  discoverySchema,
  executionSchema,
  explanationSchema,
  type Group,
  groupSchemas,
  infoSchema,
  statisticsSchema,
  tokenSchema,
} from '../json/schemas.ts';
import { endpointsSchema, serviceViewSchema } from '../json/service-schemas.ts';
import { usageSchema } from '../json/usage-schemas.ts';
import type { Variant } from '../variants/variant.ts';
import { accountOperations } from './account-operations.ts';
import { auditOperation } from './audit-operations.ts';
import { hostOperations } from './host-operations.ts';
import type { Operation, Scheme } from './operation.ts';
import { personalTokenOperations } from './personal-token-operations.ts';
import { secretOperations } from './secret-operations.ts';
import { shopOperations } from './shop-operations.ts';

const PUBLIC: readonly Scheme[] = [];
const BODY_ERRORS = [400, 413];
const STREAM_ERRORS = [400, 404, 409, 426];
const downloadQuery = z
  .strictObject({
    path: z.string().max(4_096).describe('Without an upgrade: the absolute path of what is downloaded'),
    form: z.enum(['file', 'tar']).describe('The content of a file, or a tar archive of a file or a folder'),
  })
  .partial();

export function operationsOf(variant: Variant, group: Group): Operation[] {
  const access: readonly Scheme[] = [
    ...(['basic', 'cookie', 'personalToken'] as const),
    ...(variant.tokens ? (['bearer'] as const) : []),
  ];
  return [
    ...publicOperations,
    {
      method: 'get',
      path: '/login',
      tag: 'Session',
      summary: 'Log in; sets the session cookie',
      access,
      answer: groupSchemas[group].login,
      errors: [],
    },
    ...(variant.tokens ? tokenOperations(access) : []),
    ...personalTokenOperations(access),
    ...secretOperations(access),
    ...shopOperations(access),
    auditOperation(access),
    ...executionOperations(variant, group, access),
    ...serviceOperations(access),
    eventsOperation(access),
    ...hostOperations(access),
    ...(variant.accounts ? accountOperations(variant.accounts, access) : []),
  ];
}

const publicOperations: Operation[] = [
  {
    method: 'get',
    path: '/info',
    tag: 'Public',
    summary: 'Read the release, the deployment name and the versions',
    access: PUBLIC,
    answer: infoSchema,
    errors: [],
  },
  {
    method: 'post',
    path: '/app_validate',
    tag: 'Public',
    summary: 'Check an application description, bare or wrapped',
    access: PUBLIC,
    body: z.union([applicationSchema, z.object({ application: applicationSchema })]),
    answer: z.strictObject({}),
    errors: [403, ...BODY_ERRORS],
  },
  {
    method: 'get',
    path: '/statistics/scheduler',
    tag: 'Public',
    summary: 'Numbers of queued, running and ending executions of all users, and of hosts',
    access: PUBLIC,
    answer: statisticsSchema,
    errors: [],
  },
  {
    method: 'get',
    path: '/discovery/by_group/:id/:group',
    tag: 'Public',
    summary: 'List the DNS names of the active instances of a service group',
    access: PUBLIC,
    answer: discoverySchema,
    errors: [404],
  },
];

const tokenOperations = (access: readonly Scheme[]): Operation[] => [
  {
    method: 'post',
    path: '/oauth/token',
    tag: 'Session',
    summary: 'Get a pair of tokens for a password, or an access token for a refresh token',
    access: ['basic', 'refresh'],
    body: grantSchema,
    answer: tokenSchema,
    errors: BODY_ERRORS,
  },
  {
    method: 'delete',
    path: '/oauth/revoke/:token',
    tag: 'Session',
    summary: 'Revoke a token; a refresh token takes its access tokens with it',
    access: access.filter((scheme) => scheme !== 'personalToken'),
    answer: z.strictObject({ ret: z.string() }),
    errors: [404],
  },
];

function executionOperations(variant: Variant, group: Group, access: readonly Scheme[]): Operation[] {
  const execution = executionSchema(variant, groupSchemas[group].userId);
  const common = { tag: 'Executions', access };
  return [
    {
      ...common,
      method: 'post',
      path: '/execution',
      summary: 'Submit an application',
      body: submissionSchema.extend({ application: applicationSchema }),
      isMadeOnce: true,
      answer: z.strictObject({ execution_id: z.int().positive() }),
      errors: BODY_ERRORS,
    },
    {
      ...common,
      method: 'get',
      path: '/execution',
      summary: 'List executions by id: your own, or those of all users for an administrator',
      query: executionFilters(variant),
      answer: z.record(z.string(), execution),
      errors: [400],
    },
    {
      ...common,
      method: 'get',
      path: '/execution/:id',
      summary: 'Read an execution',
      answer: execution,
      errors: [404],
    },
    {
      ...common,
      method: 'delete',
      path: '/execution/:id',
      summary: 'Terminate an execution',
      answer: 'empty',
      errors: [404, 409],
    },
    {
      ...common,
      method: 'delete',
      path: '/execution/delete/:id',
      summary: 'Delete an execution; one that has not ended is terminated first',
      answer: 'empty',
      errors: [404],
    },
    {
      ...common,
      method: 'get',
      path: '/execution/:id/explain',
      summary: 'Explain why an execution is queued, and what would change that',
      answer: explanationSchema(variant),
      errors: [404],
    },
    {
      ...common,
      method: 'post',
      path: '/execution/explain',
      summary: 'Explain what would happen to an application if it were submitted now',
      body: draftSchema.extend({ application: applicationSchema }),
      answer: explanationSchema(variant),
      errors: BODY_ERRORS,
    },
    ...(variant.endpoints === 'off' ? [] : [endpointsOperation(access)]),
  ];
}

const endpointsOperation = (access: readonly Scheme[]): Operation => ({
  method: 'get',
  path: '/execution/endpoints/:id',
  tag: 'Executions',
  summary: 'List the names and URLs of the ports that an execution exposes now',
  access,
  answer: endpointsSchema,
  errors: [404],
});

const serviceOperations = (access: readonly Scheme[]): Operation[] => [
  {
    method: 'get',
    path: '/service/:id',
    tag: 'Services',
    summary: 'Read a service',
    access,
    answer: serviceViewSchema,
    errors: [404],
  },
  {
    method: 'get',
    path: '/service/logs/:id',
    tag: 'Services',
    summary: 'Read the output of a service from its first byte, live until it ends',
    access,
    answer: 'log',
    errors: [404],
  },
  {
    isNative: true,
    method: 'get',
    path: '/service/:id/usage',
    tag: 'Services',
    summary: 'Read the memory and the cores that the last start of a service used, over its whole life',
    access,
    answer: usageSchema,
    errors: [404],
  },
  {
    method: 'get',
    path: '/service/:id/exec',
    tag: 'Services',
    summary: 'Run a command in a service, over a WebSocket',
    access,
    answer: 'websocket',
    errors: STREAM_ERRORS,
  },
  {
    method: 'get',
    path: '/service/:id/forward',
    tag: 'Services',
    summary: 'Connect to a TCP port of a service, over a WebSocket',
    access,
    answer: 'websocket',
    errors: STREAM_ERRORS,
  },
  {
    method: 'get',
    path: '/service/:id/files',
    tag: 'Services',
    summary: 'Copy files of a service over a WebSocket; with path in the query, download one',
    access,
    query: downloadQuery,
    answer: 'websocket',
    errors: STREAM_ERRORS,
  },
];

const eventsOperation = (access: readonly Scheme[]): Operation => ({
  method: 'get',
  path: '/events',
  tag: 'Events',
  summary:
    'Receive changes as server-sent events: of executions and services you may read, and of hosts if your role allows',
  access,
  query: eventQuery,
  headers: z
    .strictObject({ 'Last-Event-ID': z.string().describe('The id of the last event that was read') })
    .partial(),
  answer: 'events',
  errors: [400],
});
