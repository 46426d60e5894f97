/**
 * Owns the shapes of what the API answers, as zod schemas: what renders them has their types, and the API's document is
 * made from them. Nothing is checked by them while requests are served.
 */
import * as z from 'zod';
import { applicationSchema, serviceSchema } from '../../../shared/application-schema.ts';
import { executionStatuses } from '../../core/model/execution.ts';
import { backendStatuses, serviceStatuses } from '../../core/model/service.ts';
import type { Words } from '../words.ts';

const id = z.int().positive();
const seconds = (meaning: string) => z.number().describe(`${meaning}, in seconds since the epoch (UTC)`);

export const infoSchema = z
  .strictObject({
    version: z.string().describe('Release of the service'),
    deployment_name: z.string(),
    application_format_version: z.int(),
    api_version: z.string().describe('As in the path'),
  })
  .meta({ id: 'Info' });

export const statisticsSchema = z
  .strictObject({
    termination_threads_count: z.int().nonnegative().describe('Executions that are being cleaned up'),
    queue_length: z.int().nonnegative().describe('Executions that wait to start'),
    queue: z.strictObject({
      executions: z.int().nonnegative(),
      oldest_submit: seconds('When the one that waits longest was submitted').nullable(),
    }),
    running: z
      .strictObject({
        executions: z.int().nonnegative().describe('That start or run'),
        starting: z.int().nonnegative(),
        containers: z.int().nonnegative().describe('That are to run'),
      })
      .describe('What has room'),
    hosts: z
      .strictObject({
        known: z.int().nonnegative(),
        connected: z.int().nonnegative(),
        schedulable: z.int().nonnegative().describe('Connected, and take services'),
        memory_total: z.int().nonnegative().describe('Bytes'),
        memory_reserved: z.int().nonnegative().describe('Bytes'),
        cores_total: z.number().nonnegative(),
        cores_reserved: z.number().nonnegative(),
      })
      .describe('Amounts are those of the connected hosts'),
  })
  .meta({ id: 'SchedulerStatistics' });

export const discoverySchema = z
  .strictObject({
    service_type: z.string().describe('The service group, as given'),
    execution_id: z.string().describe('As given'),
    dns_names: z.array(z.string()).describe('One of each active instance'),
  })
  .meta({ id: 'Discovery' });

export const endpointsSchema = z
  .array(z.tuple([z.string(), z.string()]).describe('Name and URL'))
  .meta({ id: 'Endpoints' });

/** In the words of the variant. */
export const executionSchema = (words: Words, userId: z.ZodType<number | string>) =>
  z
    .strictObject({
      id,
      name: z.string(),
      user_id: userId.describe('Who submitted it'),
      status: z.enum(executionStatuses.map((status) => words.statusOf(status))),
      error_message: z.string().nullable().describe('Null unless the status is error'),
      time_submit: seconds('When it was submitted'),
      time_start: seconds('When all its essential services had started').nullable(),
      time_end: seconds('When it ended').nullable(),
      services: z.array(id).readonly().describe('Ids of its services'),
      description: applicationSchema,
    })
    .meta({ id: 'Execution' });

const sentence = z.string().describe('For people');

const reasonSchema = z
  .strictObject({
    instance: z.string().describe('The first of the services with these needs'),
    instances: z.int().positive().describe('How many they are'),
    filter: z.enum(['schedulable', 'labels', 'memory', 'cores']),
    hosts: z.int().nonnegative().describe('Hosts that fail the filter'),
    of_hosts: z.int().nonnegative().describe('Hosts that were asked: those that passed the filters before'),
    missing: z.number().nullable().describe('Bytes or cores that the nearest of these hosts lacks'),
    largest: z.number().nullable().describe('Bytes or cores that the largest of these hosts has in all'),
    labels: z.array(z.string()).readonly().nullable(),
    text: sentence,
  })
  .meta({ id: 'Reason' });

const exceededLimitSchema = z
  .strictObject({
    dimension: z.enum(['executions', 'memory', 'cores']),
    limit: z.number(),
    used: z.number(),
    wanted: z.number(),
    over: z.number().describe('What is too much'),
    text: sentence,
  })
  .meta({ id: 'QuotaReason' });

/** In the words of the variant. */
export const explanationSchema = (words: Words) =>
  z
    .strictObject({
      status: z
        .enum(executionStatuses.map((status) => words.statusOf(status)))
        .nullable()
        .describe('Null for what was not submitted'),
      summary: sentence,
      position: z.int().positive().nullable().describe('In the queue; 1 is next'),
      queue_length: z.int().positive().nullable(),
      waiting_for: z.array(sentence),
      reasons: z.array(reasonSchema).describe('Why hosts do not take its services'),
      quota: z.array(exceededLimitSchema).describe("Caps of the user's quota that it would exceed"),
      backfill_reserved_for: id.nullable().describe('The execution whose kept room is all that is lacking'),
      retry_at: seconds('When a failed start is tried again').nullable(),
      fits_when_idle: z.boolean().nullable().describe('Whether there were room if nothing else ran'),
      placement: z
        .array(z.strictObject({ host: z.string(), instances: z.array(z.string()) }))
        .nullable()
        .describe('Where it goes; null where it has no room'),
    })
    .meta({ id: 'Explanation' });

export const serviceViewSchema = z
  .strictObject({
    id,
    name: z.string().describe('The group and a number'),
    service_group: z.string(),
    execution_id: id,
    status: z.enum(serviceStatuses),
    backend_status: z.enum(backendStatuses).describe('State of the container as last seen'),
    ip_address: z.string().describe('Empty while there is no container'),
    backend_id: z.string().describe('Id of the container; empty while there is none'),
    error_message: z.string().nullable(),
    description: serviceSchema,
    progress: z
      .string()
      .optional()
      .describe('What its host does towards its start, e.g. the pull of its image; only there while it does'),
  })
  .meta({ id: 'Service' });

export const userSchema = z
  .strictObject({
    id,
    username: z.string(),
    email: z.string(),
    role_id: id,
    quota_id: id,
    auth_source: z.string(),
    fs_uid: id,
    priority: z.int(),
    enabled: z.boolean(),
  })
  .meta({ id: 'User' });

export const roleSchema = z
  .strictObject({
    id,
    name: z.string(),
    can_change_config: z.boolean(),
    can_delete_executions: z.boolean(),
    can_see_status: z.boolean(),
    can_access_full_app_shop: z.boolean(),
    can_operate_others: z.boolean(),
    can_customize_resources: z.boolean(),
    can_access_api: z.boolean(),
  })
  .meta({ id: 'Role' });

export const quotaSchema = z
  .strictObject({
    id,
    name: z.string(),
    concurrent_executions: z.int().nonnegative(),
    memory: z.int().nonnegative().describe('Bytes'),
    cores: z.int().nonnegative(),
  })
  .meta({ id: 'Quota' });

export const joinTokenSchema = z
  .strictObject({
    token: z.string().describe('For one agent, as BERTH_JOIN_TOKEN; it is told only here'),
    expires_at: seconds('When it can no longer be used'),
    install: z.string().optional().describe('The line that makes a machine a host with it, as root'),
  })
  .meta({ id: 'JoinToken' });

export const tokenSchema = z
  .strictObject({
    token_type: z.literal('Bearer'),
    access_token: z.string(),
    refresh_token: z.string().optional().describe('For the grant password only'),
    expires_in: z.int().positive().describe('Seconds that the access token lives'),
  })
  .meta({ id: 'Token' });

/** What is of another kind in each group. */
export const groupSchemas = {
  A: {
    userId: z.string(),
    login: z
      .strictObject({ role: z.string(), uid: z.string().describe('The user name') })
      .meta({ id: 'Login' }),
  },
  B: { userId: id, login: z.strictObject({ user: userSchema }).meta({ id: 'Login' }) },
} as const;

export type Group = keyof typeof groupSchemas;

export const errorSchema = z
  .strictObject({
    message: z.string(),
    problems: z
      .array(z.strictObject({ pointer: z.string().describe('RFC 6901'), message: z.string() }))
      .max(100)
      .optional()
      .describe('What is wrong with an application description'),
  })
  .meta({ id: 'Error', examples: [{ message: 'What is wrong, and what to do' }] });

export type InfoJson = z.infer<typeof infoSchema>;
export type StatisticsJson = z.infer<typeof statisticsSchema>;
export type DiscoveryJson = z.infer<typeof discoverySchema>;
export type ExecutionJson = z.infer<ReturnType<typeof executionSchema>>;
export type ExplanationJson = z.infer<ReturnType<typeof explanationSchema>>;
export type ServiceJson = z.infer<typeof serviceViewSchema>;
export type UserJson = z.infer<typeof userSchema>;
export type RoleJson = z.infer<typeof roleSchema>;
export type QuotaJson = z.infer<typeof quotaSchema>;
export type TokenJson = z.infer<typeof tokenSchema>;
export type JoinTokenJson = z.infer<typeof joinTokenSchema>;
export type LoginJson = z.infer<(typeof groupSchemas)[Group]['login']>;
