/**
 * Schemas of the API's answers. Renderers take their types from them, and the OpenAPI document is made of
 * them. They check nothing while requests are served.
 */
import * as z from 'zod';
import { applicationSchema } from '../../../shared/application-schema.ts';
import { roleFlagNames, roleFlags } from '../../core/accounts/role-flags.ts';
import { errorCodes } from '../../core/model/errors.ts';
import { type ExecutionStatus, executionStatuses } from '../../core/model/execution.ts';
import { snakeFields } from '../../core/model/field-names.ts';
import { filterNames } from '../../core/scheduling/host-filters.ts';

/** The id of an object, or of one that the object belongs to. */
export const idOf = (kind: string) => z.int().positive().describe(`Id of the ${kind}`);

export const seconds = (meaning: string) =>
  z.number().describe(`${meaning}, in seconds since the epoch (UTC)`);

const timeLimit = (meaning: string) =>
  z.int().nonnegative().optional().describe(`${meaning}, in seconds; only under /native/api/0.7`);

export const infoSchema = z
  .strictObject({
    version: z.string().describe('Release of Berth'),
    deployment_name: z.string().describe('Name of this deployment; several may share a cluster'),
    application_format_version: z.int().describe('Version of the format of descriptions'),
    api_version: z.string().describe('Version of the API, as in the path'),
  })
  .meta({ id: 'Info' });

const awakeSchema = z.strictObject({
  since: seconds('The beginning of the count'),
  wakes: z.int().nonnegative().describe('How often work began after a sleep'),
  awake: z.number().nonnegative().describe('Seconds'),
  in_memory: z.number().nonnegative().describe('Seconds, with those before each sleep'),
});

export const statisticsSchema = z
  .strictObject({
    termination_threads_count: z.int().nonnegative().describe('Executions that are being cleaned up'),
    queue_length: z.int().nonnegative().describe('Executions that are queued'),
    queue: z
      .strictObject({
        executions: z.int().nonnegative().describe('Executions that are queued'),
        oldest_submit: seconds('When the execution that has been queued longest was submitted').nullable(),
      })
      .describe('What waits'),
    running: z
      .strictObject({
        executions: z.int().nonnegative().describe('Executions that are starting or running'),
        starting: z.int().nonnegative().describe('Those of them that are starting'),
        containers: z.int().nonnegative().describe('Containers that are to run'),
      })
      .describe('What is placed on hosts'),
    hosts: z
      .strictObject({
        known: z.int().nonnegative().describe('Hosts that have joined and were not removed'),
        connected: z.int().nonnegative().describe('Hosts whose agent is connected'),
        schedulable: z.int().nonnegative().describe('Hosts that are connected and take new services'),
        memory_total: z.int().nonnegative().describe('Bytes'),
        memory_reserved: z.int().nonnegative().describe('Bytes'),
        cores_total: z.number().nonnegative().describe('Cores'),
        cores_reserved: z.number().nonnegative().describe('Cores'),
      })
      .describe('Hosts of the cluster; amounts are sums over the connected ones'),
    history: z
      .strictObject({
        keep_ended_days: z.number().nonnegative().describe('0: for ever'),
        removed: z.int().nonnegative().describe('Executions removed after these days, since the start'),
        reviewed: seconds('When the history was last reviewed to its end').nullable(),
      })
      .describe('How long ended executions are kept'),
    awake: z
      .strictObject({
        coordinator: awakeSchema.describe('The object that schedules'),
        gateways: awakeSchema
          .nullable()
          .describe('The objects of the agents together; null while none was awake'),
      })
      .nullable()
      .describe('How long the objects on Cloudflare were awake; null on Node'),
  })
  .meta({ id: 'SchedulerStatistics' });

export const discoverySchema = z
  .strictObject({
    service_type: z.string().describe('The service group, as in the path'),
    execution_id: z.string().describe('The id, as in the path'),
    dns_names: z.array(z.string()).describe('The DNS name of each active instance'),
  })
  .meta({ id: 'Discovery' });

const sentence = z.string().describe('A sentence for people');
const REASONS = 'What it waits for, in lists below /native only, while it is queued and if that is known';

/** The words of a variant for statuses. */
interface StatusWords<Status extends string> {
  statusOf(status: ExecutionStatus): Status;
}

/** In the words of the variant. */
export const executionSchema = <Status extends string, UserId extends z.ZodType<number | string>>(
  words: StatusWords<Status>,
  userId: UserId,
) =>
  z
    .strictObject({
      id: idOf('execution'),
      name: z.string().describe('The name that it was submitted with'),
      user_id: userId.describe('The user who submitted the execution'),
      status: z.enum(executionStatuses.map((status) => words.statusOf(status))).describe('Its state'),
      error_message: z.string().nullable().describe('Null unless the status is error'),
      time_submit: seconds('When it was submitted'),
      time_start: seconds('When all its essential services had started').nullable(),
      time_end: seconds('When it ended').nullable(),
      services: z.array(idOf('service')).readonly().describe('Ids of its services'),
      time_limit: timeLimit('How long it may last from its placement on').nullable(),
      waiting_for: z.array(sentence).optional().describe(REASONS),
      description: applicationSchema.describe('The application description, as it was submitted'),
    })
    .meta({ id: 'Execution' });

const reasonSchema = z
  .strictObject({
    instance: z.string().describe('The first of the service instances with the same requirements'),
    instances: z.int().positive().describe('Number of instances with these requirements'),
    filter: z.enum(filterNames).describe('The condition that these hosts fail'),
    hosts: z.int().nonnegative().describe('Number of hosts that fail the filter'),
    of_hosts: z.int().nonnegative().describe('Number of hosts that passed all earlier filters'),
    missing: z.number().nullable().describe('Bytes or cores that the closest of these hosts lacks'),
    largest: z.number().nullable().describe('Total bytes or cores of the largest of these hosts'),
    labels: z
      .array(z.string())
      .readonly()
      .nullable()
      .describe('The labels that hosts lack, for the filter labels'),
    text: sentence,
  })
  .meta({ id: 'Reason' });

const exceededLimitSchema = z
  .strictObject({
    dimension: z.enum(['executions', 'memory', 'cores', 'instances']).describe('What is limited'),
    limit: z.number().describe('The limit: a number, bytes or cores'),
    used: z.number().describe('What is in use'),
    wanted: z.number().describe('What the execution would add'),
    over: z.number().describe('The excess over the limit'),
    text: sentence,
  })
  .meta({ id: 'QuotaReason' });

/** In the words of the variant. */
export const explanationSchema = <Status extends string>(words: StatusWords<Status>) =>
  z
    .strictObject({
      status: z
        .enum(executionStatuses.map((status) => words.statusOf(status)))
        .nullable()
        .describe('Null for an application that was not submitted'),
      summary: sentence,
      position: z.int().positive().nullable().describe('Position in the queue; 1 is next'),
      queue_length: z
        .int()
        .positive()
        .nullable()
        .describe('Executions in the queue; null if it is not queued'),
      waiting_for: z.array(sentence).describe('What it waits for'),
      reasons: z.array(reasonSchema).describe('Why hosts do not take its services'),
      quota: z
        .array(exceededLimitSchema)
        .describe(
          "Limits of the user's quota, and the bound on instances of all users, that it would exceed",
        ),
      demand: z
        .strictObject({
          memory: z.number().describe('Bytes that hosts must have free'),
          cores: z.number().describe('Cores that hosts must have free, and that count under the quota'),
          memory_limit: z.number().describe('Bytes that its services may use, which count under the quota'),
        })
        .nullable()
        .describe('What the start of a queued execution requires'),
      backfill_reserved_for: idOf('execution')
        .nullable()
        .describe('Id of the execution whose backfill reservation alone prevents the start'),
      retry_at: seconds('When a failed start is retried').nullable(),
      fits_when_idle: z.boolean().nullable().describe('Whether it would fit if nothing else ran'),
      placement: z
        .array(
          z.strictObject({
            host: z.string().describe('Name of the host'),
            instances: z.array(z.string()).describe('Names of the instances that it would take'),
          }),
        )
        .nullable()
        .describe('Where its instances would be placed; null if it does not fit'),
    })
    .meta({ id: 'Explanation' });

export const userSchema = z
  .strictObject({
    id: idOf('user'),
    username: z.string().describe('Name for logging in'),
    email: z.string().describe('E-mail address; empty if none is known'),
    role_id: idOf('role'),
    quota_id: idOf('quota'),
    auth_source: z.string().describe('What verifies the password, e.g. internal for Berth itself'),
    fs_uid: z.int().positive().describe('User id of the processes and files of the containers'),
    priority: z.int().describe('Executions of users with a higher priority start first'),
    enabled: z.boolean().describe('Whether the user may log in'),
    subject: z
      .string()
      .nullable()
      .optional()
      .describe('Who the user is at the provider of the sign-on, of one user below /native; null: nobody'),
  })
  .meta({ id: 'User' });

/** What roles allow. */
export const flags = snakeFields(roleFlagNames, (flag) => z.boolean().describe(roleFlags[flag]));

export const roleSchema = z
  .strictObject({
    id: idOf('role'),
    name: z.string().describe('Name of the role'),
    ...flags,
    can_exec: z.boolean().optional().describe(`${flags.can_exec.description}; only under /native`),
  })
  .meta({ id: 'Role' });

export const quotaSchema = z
  .strictObject({
    id: idOf('quota'),
    name: z.string().describe('Name of the quota'),
    concurrent_executions: z
      .int()
      .nonnegative()
      .describe('Executions that may be placed at a time; 0: any number'),
    memory: z.int().nonnegative().describe('Bytes of all placed executions together; 0: no limit'),
    cores: z
      .number()
      .nonnegative()
      .describe(
        "Cores of all placed executions together; 0: no limit. A whole number, except below Berth's own path",
      ),
    time_limit: timeLimit('How long an execution lasts by default; 0: no limit'),
    max_time_limit: timeLimit('The longest time limit of an execution; 0: any or none'),
  })
  .meta({ id: 'Quota' });

export const tokenSchema = z
  .strictObject({
    token_type: z.literal('Bearer').describe('How the token is sent'),
    access_token: z.string().describe('The token for requests'),
    refresh_token: z.string().optional().describe('Only for the grant password'),
    expires_in: z.int().positive().describe('Lifetime of the access token in seconds'),
  })
  .meta({ id: 'Token' });

/** What differs in type between the groups. */
export const groupSchemas = {
  A: {
    userId: z.string(),
    login: z
      .strictObject({
        role: z.string().describe('Name of the role'),
        uid: z.string().describe('The user name'),
      })
      .meta({ id: 'Login' }),
  },
  B: {
    userId: idOf('user'),
    login: z.strictObject({ user: userSchema.describe('Who has logged in') }).meta({ id: 'Login' }),
  },
} as const;

export type Group = keyof typeof groupSchemas;

export const errorSchema = z
  .strictObject({
    code: z.enum(errorCodes).describe('The kind of the error, for programs: a word that does not change'),
    message: z.string().describe('What is wrong and what to do, for people; it may change'),
    problems: z
      .array(
        z.strictObject({
          pointer: z.string().describe('JSON pointer (RFC 6901)'),
          message: z.string().describe('What is wrong there, for people'),
        }),
      )
      .max(100)
      .optional()
      .describe('Problems of an application description'),
  })
  .meta({ id: 'Error', examples: [{ code: 'not-found', message: 'What is wrong, and what to do' }] });

export type InfoJson = z.infer<typeof infoSchema>;
export type StatisticsJson = z.infer<typeof statisticsSchema>;
export type DiscoveryJson = z.infer<typeof discoverySchema>;
export type ExecutionJson = z.infer<ReturnType<typeof executionSchema>>;
export type ExplanationJson = z.infer<ReturnType<typeof explanationSchema>>;
/** As groups have it that identify users by id and have the statuses of the core. */
export type ExecutionJsonOfB = z.infer<
  ReturnType<typeof executionSchema<ExecutionStatus, typeof groupSchemas.B.userId>>
>;
export type ExplanationJsonOfB = z.infer<ReturnType<typeof explanationSchema<ExecutionStatus>>>;
export type UserJson = z.infer<typeof userSchema>;
export type RoleJson = z.infer<typeof roleSchema>;
export type QuotaJson = z.infer<typeof quotaSchema>;
export type TokenJson = z.infer<typeof tokenSchema>;
export type LoginJson<In extends Group = Group> = z.infer<(typeof groupSchemas)[In]['login']>;
export type ErrorJson = z.infer<typeof errorSchema>;
