/**
 * Operations of the API for the OpenAPI document: access, input, answer and errors of each. Routes are
 * defined in routes/.
 */
import * as z from 'zod';
import { applicationSchema } from '../../../shared/application-schema.ts';
import { MAX_TAIL_LINES } from '../../../shared/protocol/bounds.ts';
import {
  draftSchema,
  submissionSchema,
  timeLimitSchema,
} from '../../operations/executions/submission-input.ts';
import { executionFilters } from '../json/execution-filter-query.ts';
import { eventQuery, grantSchema } from '../json/request-schemas.ts';
import {
  discoverySchema,
  executionSchema,
  explanationSchema,
  type Group,
  groupSchemas,
  idOf,
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
const STREAM_ERRORS = [404, 409, 426];
const downloadQuery = z
  .strictObject({
    path: z.string().max(4_096).describe('Without an upgrade: the absolute path of what is downloaded'),
    form: z.enum(['file', 'tar']).describe('The content of a file, or a tar archive of a file or a folder'),
  })
  .partial();

const logsQuery = z.strictObject({
  from: z
    .string()
    .describe('SERVICE.GENERATION.OFFSET of each service, separated by commas; ID.1.0: from its beginning'),
  timestamps: z.boolean().optional().describe('Whether each line begins with its time'),
  follow: z.boolean().optional().describe('False: the stream ends after the output that there is now'),
  tail: z
    .int()
    .min(1)
    .max(MAX_TAIL_LINES)
    .optional()
    .describe('Only so many last lines of the last start of each service'),
});

export function operationsOf(variant: Variant, group: Group): Operation[] {
  const access: readonly Scheme[] = [
    ...(['basic', 'cookie', 'httpsCookie', 'personalToken'] as const),
    ...(variant.tokens ? (['bearer'] as const) : []),
  ];
  return [
    ...publicOperations,
    {
      method: 'get',
      path: '/login',
      tag: 'Session',
      id: 'logIn',
      summary: 'Log in; sets the session cookie',
      description: 'Basic credentials open a session, whose cookie replaces them in further requests.',
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
    id: 'getInfo',
    summary: 'Read the release, the deployment name and the versions',
    description: 'The answer is the same for everybody.',
    access: PUBLIC,
    answer: infoSchema,
    errors: [],
  },
  {
    method: 'post',
    path: '/app_validate',
    tag: 'Public',
    id: 'validateApplication',
    summary: 'Check an application description, bare or wrapped',
    description:
      'The description is the whole body, or its field `application`. An invalid one is a 400 with every problem and its place; nothing is stored.',
    access: PUBLIC,
    body: z.union([
      applicationSchema,
      z.object({ application: applicationSchema.describe('The application description') }),
    ]),
    answer: z.strictObject({}),
    errors: [403],
  },
  {
    method: 'get',
    path: '/statistics/scheduler',
    tag: 'Public',
    id: 'getSchedulerStatistics',
    summary: 'Numbers of queued, running and ending executions of all users, and of hosts',
    description: 'The figures name neither users nor executions.',
    access: PUBLIC,
    answer: statisticsSchema,
    errors: [],
  },
  {
    method: 'get',
    path: '/discovery/by_group/:id/:group',
    tag: 'Public',
    id: 'discoverServiceGroup',
    summary: 'List the DNS names of the active instances of a service group',
    description:
      'Services of an execution find each other by these names. The list is empty while no instance is active.',
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
    id: 'grantToken',
    summary: 'Get a pair of tokens for a password, or an access token for a refresh token',
    description:
      'Basic credentials with the grant `password` get both tokens. A refresh token, sent as the bearer token, with the grant `refresh_token` gets another access token.',
    access: ['basic', 'refresh'],
    body: grantSchema,
    answer: tokenSchema,
    errors: [],
  },
  {
    method: 'delete',
    path: '/oauth/revoke/:token',
    tag: 'Session',
    id: 'revokeToken',
    summary: 'Revoke a token; a refresh token takes its access tokens with it',
    description: 'Only the token of the caller is found.',
    access: access.filter((scheme) => scheme !== 'personalToken'),
    answer: z.strictObject({ ret: z.string().describe('Confirms the revocation, for people') }),
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
      id: 'submitExecution',
      summary: 'Submit an application',
      description:
        'The execution waits in the queue until all its essential services fit on hosts. Without an Idempotency-Key, a repeated request submits another execution.',
      body: submissionSchema.extend({
        application: applicationSchema.describe('The application description'),
      }),
      isMadeOnce: true,
      answer: z.strictObject({ execution_id: idOf('execution') }),
      errors: [],
    },
    {
      ...common,
      method: 'get',
      path: '/execution',
      id: 'listExecutions',
      summary: 'List executions by id: your own, or those of all users for an administrator',
      description:
        'Several filters must all match. The answer is streamed page by page, so that it may be of any length.',
      query: executionFilters(variant),
      answer: z.record(z.string(), execution),
      errors: [],
    },
    {
      ...common,
      method: 'get',
      path: '/execution/:id',
      id: 'getExecution',
      summary: 'Read an execution',
      description: 'The execution is your own, or any one if your role may operate those of others.',
      answer: execution,
      errors: [404],
    },
    {
      ...common,
      method: 'delete',
      path: '/execution/:id',
      id: 'terminateExecution',
      summary: 'Terminate an execution',
      description:
        'Its services are stopped, and its output and description are kept. The answer does not wait until the containers are gone.',
      answer: 'empty',
      errors: [404, 409],
    },
    {
      ...common,
      method: 'delete',
      path: '/execution/delete/:id',
      id: 'deleteExecution',
      summary: 'Delete an execution; one that has not ended is terminated first',
      description:
        'Its output and description are removed, and cannot be recovered. Some roles may not delete.',
      answer: 'empty',
      errors: [404],
    },
    {
      ...common,
      method: 'get',
      path: '/execution/:id/explain',
      id: 'explainExecution',
      summary: 'Explain why an execution is queued, and what would change that',
      description:
        'The explanation follows the decision of the scheduler: the position in the queue, what hosts lack, and limits of the quota.',
      answer: explanationSchema(variant),
      errors: [404],
    },
    {
      ...common,
      method: 'post',
      path: '/execution/explain',
      id: 'explainApplication',
      summary: 'Explain what would happen to an application if it were submitted now',
      description:
        'The application is checked and placed as a submission would be, but nothing is submitted.',
      body: draftSchema.extend({ application: applicationSchema.describe('The application description') }),
      answer: explanationSchema(variant),
      errors: [],
    },
    {
      ...common,
      isNative: true,
      method: 'post',
      path: '/execution/:id',
      id: 'changeTimeLimit',
      summary: 'Change the time limit of an execution',
      description:
        'The limit counts from the placement of the execution, and null removes it. Whoever may terminate the execution may change it.',
      body: timeLimitSchema,
      answer: 'empty',
      errors: [404, 409],
    },
    {
      ...common,
      isNative: true,
      method: 'get',
      path: '/execution/:id/logs',
      id: 'readExecutionLogs',
      summary: 'Read the output of up to 16 services of an execution in one stream, from given positions on',
      description:
        'A frame has 20 bytes in network order: the id of the service (4), the number of its start (4), the ' +
        'position after this output (8, a floating-point number) and the length (4); then the output. If the ' +
        'number of the start is 0, a note follows as JSON: ended, missing or trouble. A frame of service 0 only ' +
        'shows that the stream is alive, and comes at least every 15 s.',
      query: logsQuery,
      answer: 'frames',
      errors: [404],
    },
    ...(variant.endpoints === 'off' ? [] : [endpointsOperation(access)]),
  ];
}

const endpointsOperation = (access: readonly Scheme[]): Operation => ({
  method: 'get',
  path: '/execution/endpoints/:id',
  tag: 'Executions',
  id: 'listEndpoints',
  summary: 'List the names and URLs of the ports that an execution exposes now',
  description: 'A port has a URL while its service runs. The pair is the name of the port and its URL.',
  access,
  answer: endpointsSchema,
  errors: [404],
});

const serviceOperations = (access: readonly Scheme[]): Operation[] => [
  {
    method: 'get',
    path: '/service/:id',
    tag: 'Services',
    id: 'getService',
    summary: 'Read a service',
    description: 'A service is one container of an execution, with its state as its host last reported it.',
    access,
    answer: serviceViewSchema,
    errors: [404],
  },
  {
    method: 'get',
    path: '/service/logs/:id',
    tag: 'Services',
    id: 'readServiceLog',
    summary: 'Read the output of a service from its first byte, live until it ends',
    description:
      'Standard output and standard error of all starts, in the order in which they were written. The stream ends with the service.',
    access,
    answer: 'log',
    errors: [404],
  },
  {
    isNative: true,
    method: 'get',
    path: '/service/:id/usage',
    tag: 'Services',
    id: 'getServiceUsage',
    summary: 'Read the memory and the cores that the last start of a service used, over its whole life',
    description: 'The samples lie closer for a short life than for a long one.',
    access,
    answer: usageSchema,
    errors: [404],
  },
  {
    method: 'get',
    path: '/service/:id/exec',
    tag: 'Services',
    id: 'execInService',
    summary: 'Run a command in a service, over a WebSocket',
    description:
      'The first message has the command and whether it gets a terminal. The role must allow commands in services.',
    access,
    answer: 'websocket',
    errors: STREAM_ERRORS,
  },
  {
    method: 'get',
    path: '/service/:id/forward',
    tag: 'Services',
    id: 'forwardPort',
    summary: 'Connect to a TCP port of a service, over a WebSocket',
    description: 'The first message has the port. The port need not be published.',
    access,
    answer: 'websocket',
    errors: STREAM_ERRORS,
  },
  {
    method: 'get',
    path: '/service/:id/files',
    tag: 'Services',
    id: 'copyFiles',
    summary: 'Copy files of a service over a WebSocket; with path in the query, download one',
    description:
      'With an upgrade, the first message says whether files are read or written. Without an upgrade, `path` names what is downloaded.',
    access,
    query: downloadQuery,
    answer: 'websocket or file',
    errors: STREAM_ERRORS,
  },
];

const eventsOperation = (access: readonly Scheme[]): Operation => ({
  method: 'get',
  path: '/events',
  tag: 'Events',
  id: 'followEvents',
  summary:
    'Receive changes as server-sent events: of executions and services you may read, and of hosts if your role allows',
  description: 'A client that reconnects with the id of the last event misses none, or gets the event reset.',
  access,
  query: eventQuery,
  headers: z
    .strictObject({ 'Last-Event-ID': z.string().describe('The id of the last event that was read') })
    .partial(),
  answer: 'events',
  errors: [],
});
