/**
 * Settings of the control plane: names, defaults and checks. The entries (node.ts, worker.ts) pass in the
 * environment.
 */
import * as z from 'zod';
import { schemaMessage } from '../shared/application-words.ts';
import { isolations } from '../shared/protocol/assignment.ts';
import { parseBytes } from '../shared/sizes.ts';
import { DEFAULT_MIN_PASSWORD_LENGTH } from './core/accounts/password-policy.ts';
import type { PersonalTokenRules } from './core/accounts/personal-token.ts';
import type { SecretSettings } from './core/accounts/secret.ts';
import { defaultBounds, MIB, workerBounds } from './core/model/bounds.ts';
import { MIN_MEMORY_LIMIT } from './core/model/resources.ts';
import {
  defaultSchedulerConfig,
  hostLossPolicies,
  placementPolicies,
  queuePolicies,
  type SchedulerConfig,
} from './core/model/scheduler-config.ts';
import { ldapProblems, ldapSettings } from './directory/ldap-settings.ts';
import { appProblems, appsSettings } from './operations/apps/settings.ts';
import { signOnProblems, signOnSettings } from './operations/sign-on/settings.ts';
import type { ConnectionLimits } from './server/connection-places.ts';
import { bound, MAX_MEMORY_MIB } from './settings/bound.ts';
import { boundSettings, boundsOf, recordSettings } from './settings/queue-settings.ts';
import { streamRulesOf, streamSettings } from './settings/stream-settings.ts';

const YEAR_S = 365 * 86_400;
const MAX_HSTS_AGE_S = 2 * YEAR_S;
const MAX_MIN_PASSWORD_LENGTH = 128;
const MAX_RESERVE_AFTER_S = 366 * 86_400;

const MAX_KEEP_DAYS = 36_500;

const MIN_METRICS_TOKEN_LENGTH = 16;

const MAX_SECRET_KEYS = 8;
export const isSecretKey = (text: string) => /^[A-Za-z0-9+/]{43}=$/.test(text);

const isMemoryLimit = (bytes = 0) => bytes >= MIN_MEMORY_LIMIT && Number.isSafeInteger(bytes);

const settings = z.object({
  BERTH_DEPLOYMENT_NAME: z
    .string()
    .max(24)
    .regex(
      /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
      'must consist of lower-case letters, digits and inner "-", since it becomes part of DNS names',
    )
    .default('local'),
  BERTH_API_VARIANT: z.enum(['A', 'B', 'zoe-2018.12', 'zoe-2017.12']).default('B'),
  BERTH_EXECUTION_ENDPOINTS: z.enum(['on', 'off']).default('on'),
  /** The default is that of the earlier platform. */
  BERTH_ZOE_GID: z.coerce
    .number('must be the id of a group')
    .int('must be the id of a group')
    .min(0, 'must be the id of a group')
    .max(2 ** 31 - 1, 'must be the id of a group')
    .default(5001),
  BERTH_ADMIN_PASSWORD: z.string().min(1).optional(),
  BERTH_MAX_WAITING_LOGINS: bound(512, 'logins', 100_000),
  BERTH_MAX_SESSIONS_PER_USER: bound(100, 'sessions', 10_000),
  BERTH_MAX_PERSONAL_TOKENS_PER_USER: bound(50, 'tokens', 1_000),
  BERTH_MAX_PERSONAL_TOKEN_DAYS: bound(0, 'days', 36_500, 0),
  BERTH_SECRET_KEYS: z
    .string()
    .transform((text) => text.split(',').map((key) => key.trim()))
    .refine((keys) => keys.length <= MAX_SECRET_KEYS, `must have at most ${MAX_SECRET_KEYS} keys`)
    .refine(
      (keys) => keys.every(isSecretKey),
      'must be keys of 32 random bytes in base64, separated by commas: `openssl rand -base64 32` makes one',
    )
    .optional(),
  BERTH_MAX_SECRETS_PER_USER: bound(100, 'secrets', 10_000),
  BERTH_MIN_PASSWORD_LENGTH: z.coerce
    .number('must be a number of characters')
    .int('must be a whole number of characters')
    .min(1, 'must be at least 1 character')
    .max(MAX_MIN_PASSWORD_LENGTH, `must be at most ${MAX_MIN_PASSWORD_LENGTH} characters`)
    .default(DEFAULT_MIN_PASSWORD_LENGTH),
  BERTH_PUBLIC_URL: z
    .string()
    .regex(
      /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?\/?$/,
      'must be the http or https address of this control plane without a path, like https://berth.example.org',
    )
    .transform((url) => url.replace(/\/$/, ''))
    .optional(),
  BERTH_HSTS_MAX_AGE: z.coerce
    .number('must be a number of seconds')
    .int('must be a whole number of seconds')
    .min(0, 'must be at least 0 seconds')
    .max(MAX_HSTS_AGE_S, `must be at most ${MAX_HSTS_AGE_S} seconds (two years)`)
    .default(YEAR_S),
  BERTH_DATABASE_URL: z.string().min(1).optional(),
  BERTH_DATABASE_TOKEN: z.string().min(1).optional(),
  BERTH_QUEUE_POLICY: z.enum(queuePolicies).default(defaultSchedulerConfig.queuePolicy),
  BERTH_PLACEMENT_POLICY: z.enum(placementPolicies).default(defaultSchedulerConfig.placementPolicy),
  BERTH_BACKFILL_RESERVE_AFTER: z.coerce
    .number('must be a number of seconds')
    .int('must be a whole number of seconds')
    .min(0, 'must be at least 0 seconds')
    .max(MAX_RESERVE_AFTER_S, `must be at most ${MAX_RESERVE_AFTER_S} seconds (a year)`)
    .default(defaultSchedulerConfig.backfillReserveAfterMs / 1_000),
  BERTH_HOST_LOSS: z.enum(hostLossPolicies).default(defaultSchedulerConfig.hostLossPolicy),
  BERTH_HOST_LOST_AFTER: z.coerce
    .number('must be a number of seconds')
    .min(5, 'must be at least 5 seconds')
    .max(86_400, 'must be at most 86400 seconds (a day)')
    .default(defaultSchedulerConfig.lostAfterMs / 1000),
  BERTH_DEFAULT_MEMORY: z
    .string()
    .refine((text) => isMemoryLimit(parseBytes(text)), 'must be a size of at least 6MiB, like 512MiB')
    .default('512MiB'),
  BERTH_UNKNOWN_CONTAINERS: z.enum(['keep', 'remove']).default('keep'),
  BERTH_KEEP_ENDED: z.coerce
    .number('must be a number of days')
    .min(0, 'must be at least 0 days')
    .max(MAX_KEEP_DAYS, `must be at most ${MAX_KEEP_DAYS} days`)
    .optional(),
  BERTH_METRICS: z.enum(['token', 'open', 'off']).default('token'),
  BERTH_METRICS_TOKEN: z
    .string()
    .min(MIN_METRICS_TOKEN_LENGTH, `must have at least ${MIN_METRICS_TOKEN_LENGTH} characters`)
    .regex(/^[!-~]*$/, 'must consist of printable ASCII without spaces, since it is sent in a header')
    .optional(),
  BERTH_METRICS_HOSTS: bound(500, 'hosts', 100_000, 0),
  BERTH_NETWORK_ISOLATION: z.enum(isolations).default('user'),
  BERTH_MAX_HOST_MESSAGES_MIB: bound(32, 'MiB', MAX_MEMORY_MIB),
  BERTH_MAX_HOST_SECRETS_MIB: bound(32, 'MiB', MAX_MEMORY_MIB, 2),
  BERTH_HOSTS_PER_GATEWAY: bound(100, 'hosts', 10_000),
  BERTH_MAX_GATEWAY_MIB: bound(32, 'MiB', MAX_MEMORY_MIB),
  ...signOnSettings,
  ...appsSettings,
  ...streamSettings,
  ...recordSettings,
  ...boundSettings(workerBounds),
  BERTH_MAX_BODY_MEMORY_MIB: bound(16, 'MiB', MAX_MEMORY_MIB),
});

/** Settings of a self-hosted control plane only. */
const nodeSettings = settings.extend({
  BERTH_HOST: z.string().min(1).default('127.0.0.1'),
  BERTH_PORT: z.coerce.number().int().min(0).max(65535).default(5001),
  BERTH_DATA_DIR: z.string().min(1).default('.berth'),
  BERTH_TRUST_PROXY: z.enum(['on', 'off']).default('off'),
  BERTH_MAX_CONNECTIONS: bound(5_000, 'connections', 1_000_000),
  BERTH_MAX_CONNECTIONS_PER_ADDRESS: bound(2_000, 'connections', 1_000_000),
  BERTH_CONNECTIONS_FOR_AGENTS: bound(1_000, 'connections', 1_000_000),
  BERTH_MAX_PIPELINED_REQUESTS: bound(16, 'requests', 1_000),
  BERTH_MAX_UNREAD_MIB: bound(256, 'MiB', MAX_MEMORY_MIB),
  BERTH_LOCAL_AGENT: z.enum(['on', 'off']).default('on'),
  BERTH_STANDBY: z.enum(['on', 'off']).default('off'),
  ...ldapSettings,
  BERTH_SHOP: z.string().min(1).optional(),
  /** Folder with a signed agent, instead of the one that Berth comes with. */
  BERTH_AGENT_RELEASE: z.string().min(1).optional(),
  ...boundSettings(defaultBounds),
  BERTH_MAX_BODY_MEMORY_MIB: bound(64, 'MiB', MAX_MEMORY_MIB),
});

export type Config = z.infer<typeof settings>;
export type NodeConfig = z.infer<typeof nodeSettings>;

export class ConfigError extends Error {
  override name = 'ConfigError';
}

type Environment = Record<string, unknown>;

/** Settings of earlier releases, with their new names. */
const renamed: Record<string, string> = { BERTH_HOLD_AFTER: 'BERTH_BACKFILL_RESERVE_AFTER' };

export function readConfig(env: Environment): Config {
  const problems = env.BERTH_LDAP_URL
    ? [
        'BERTH_LDAP_URL: a Worker can not verify passwords at a directory; remove this setting, or run the control plane on Node',
      ]
    : [];
  return whole(read(settings, env), problems);
}
export function readNodeConfig(env: Environment): NodeConfig {
  const config = read(nodeSettings, env);
  const ofStandby = config.BERTH_STANDBY === 'on' ? standbyProblems(config) : [];
  return whole(config, [...ofStandby, ...ldapProblems(config)]);
}

/** Throws ConfigError if settings that belong together do not fit. */
function whole<C extends Config>(config: C, others: readonly string[]): C {
  const problems = [...others, ...signOnProblems(config), ...appProblems(config)];
  if (problems.length > 0) throw new ConfigError(`Invalid settings. ${problems.join('; ')}`);
  return config;
}

/** True if the database is a libSQL server, which other control planes may use as well. */
export const isServer = (databaseUrl: string | undefined): boolean =>
  /^(https?|libsql|wss?):/.test(databaseUrl ?? '');

const standbyProblems = ({ BERTH_DATABASE_URL, BERTH_LOCAL_AGENT }: NodeConfig): string[] => [
  ...(isServer(BERTH_DATABASE_URL)
    ? []
    : ['BERTH_DATABASE_URL: must be the URL of a libSQL server if BERTH_STANDBY is on']),
  ...(BERTH_LOCAL_AGENT === 'on'
    ? ['BERTH_LOCAL_AGENT: must be off if BERTH_STANDBY is on: start an agent of its own on this machine']
    : []),
];

/** At least half of all connections are left to others than agents. */
export const connectionLimitsOf = (config: NodeConfig): ConnectionLimits => ({
  connections: config.BERTH_MAX_CONNECTIONS,
  perAddress: config.BERTH_MAX_CONNECTIONS_PER_ADDRESS,
  forAgents: Math.min(config.BERTH_CONNECTIONS_FOR_AGENTS, Math.floor(config.BERTH_MAX_CONNECTIONS / 2)),
  pipelined: config.BERTH_MAX_PIPELINED_REQUESTS,
  unreadBytes: config.BERTH_MAX_UNREAD_MIB * MIB,
});

/** Undefined if no client can use https, or if the setting is 0. */
export const strictTransportOf = (config: Config, can: { httpsItself: boolean; behindProxy: boolean }) =>
  config.BERTH_HSTS_MAX_AGE > 0 && (can.httpsItself || can.behindProxy)
    ? { maxAgeS: config.BERTH_HSTS_MAX_AGE, behindProxy: can.behindProxy }
    : undefined;

export const personalTokenRulesOf = (config: Config): PersonalTokenRules => ({
  maxPerUser: config.BERTH_MAX_PERSONAL_TOKENS_PER_USER,
  maxDays: config.BERTH_MAX_PERSONAL_TOKEN_DAYS,
});

export const secretSettingsOf = (config: Config): SecretSettings => ({
  secretKeys: config.BERTH_SECRET_KEYS ?? [],
  secretRules: { maxPerUser: config.BERTH_MAX_SECRETS_PER_USER },
  secretFetchBytes: config.BERTH_MAX_HOST_SECRETS_MIB * MIB,
});

/** The password of the administrator who is created in an empty database. */
export const firstPasswordOf = (config: Config) => ({
  configured: config.BERTH_ADMIN_PASSWORD,
  minLength: config.BERTH_MIN_PASSWORD_LENGTH,
});

export const schedulerConfigOf = (config: Config): SchedulerConfig => ({
  ...defaultSchedulerConfig,
  queuePolicy: config.BERTH_QUEUE_POLICY,
  placementPolicy: config.BERTH_PLACEMENT_POLICY,
  backfillReserveAfterMs: config.BERTH_BACKFILL_RESERVE_AFTER * 1_000,
  // The setting may be fractional; the protocol has whole milliseconds.
  lostAfterMs: Math.round(1_000 * config.BERTH_HOST_LOST_AFTER),
  hostLossPolicy: config.BERTH_HOST_LOSS,
  defaultMemoryBytes: parseBytes(config.BERTH_DEFAULT_MEMORY) ?? 0,
  bounds: boundsOf(config),
  streams: streamRulesOf(config),
});

/**
 * Reads the known settings; empty ones count as unset. Throws ConfigError that names every invalid setting,
 * never its value.
 */
function read<T>(schema: z.ZodType<T>, env: Environment): T {
  const given = Object.entries(env).filter(([name, value]) => name.startsWith('BERTH_') && value !== '');
  const result = schema.safeParse(Object.fromEntries(given), { error: schemaMessage });
  const outdated = given.flatMap(([name]) =>
    Object.hasOwn(renamed, name) ? [`${name}: was renamed, set ${renamed[name]} instead`] : [],
  );
  if (result.success && outdated.length === 0) return result.data;
  const issues = result.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  const problems = [...outdated, ...issues];
  throw new ConfigError(`Invalid settings. ${problems.join('; ')}`);
}
