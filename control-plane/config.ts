/**
 * Reads the settings of the control plane (settings.ts), checks those that belong together, and derives what
 * the parts of the program require. The entries (node.ts, worker.ts) pass in the environment.
 */
import type * as z from 'zod';
import { schemaMessage } from '../shared/application-words.ts';
import { removedIn } from '../shared/settings/setting-names.ts';
import type { PersonalTokenRules } from './core/accounts/personal-token.ts';
import type { SecretSettings } from './core/accounts/secret.ts';
import { defaultSchedulerConfig, type SchedulerConfig } from './core/model/scheduler-config.ts';
import { streamRulesOf } from './core/model/stream-rules.ts';
import { ldapProblems } from './directory/ldap-settings.ts';
import type { ConnectionLimits } from './guard/connection-places.ts';
import { appProblems } from './operations/apps/settings.ts';
import { signOnProblems } from './operations/sign-on/settings.ts';
import { type Config, type NodeConfig, nodeSettings, settings } from './settings.ts';

export class ConfigError extends Error {
  override name = 'ConfigError';
}

type Environment = Record<string, unknown>;

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
export const connectionLimitsOf = ({ BERTH_LIMITS: limits }: NodeConfig): ConnectionLimits => ({
  connections: limits.connections,
  perAddress: limits.connectionsPerAddress,
  forAgents: Math.min(limits.connectionsForAgents, Math.floor(limits.connections / 2)),
  pipelined: limits.pipelinedRequests,
  unreadBytes: limits.unreadBytes,
});

/** Undefined if no client can use https, or if the limit is 0. */
export const strictTransportOf = (
  { BERTH_LIMITS: { hstsMaxAgeS: maxAgeS } }: Config,
  { httpsItself, behindProxy }: { httpsItself: boolean; behindProxy: boolean },
) => (maxAgeS > 0 && (httpsItself || behindProxy) ? { maxAgeS, behindProxy } : undefined);

export const personalTokenRulesOf = ({ BERTH_LIMITS: limits }: Config): PersonalTokenRules => ({
  maxPerUser: limits.personalTokensPerUser,
  maxDays: limits.personalTokenDays,
});

export const secretSettingsOf = ({ BERTH_SECRET_KEYS, BERTH_LIMITS: limits }: Config): SecretSettings => ({
  secretKeys: BERTH_SECRET_KEYS ?? [],
  secretRules: { maxPerUser: limits.secretsPerUser },
  secretFetchBytes: limits.hostSecretBytes,
});

/** The password of the administrator who is created in an empty database. */
export const firstPasswordOf = (config: Config) => ({
  configured: config.BERTH_ADMIN_PASSWORD,
  minLength: config.BERTH_LIMITS.minPasswordLength,
});

export const schedulerConfigOf = (config: Config): SchedulerConfig => ({
  ...defaultSchedulerConfig,
  queuePolicy: config.BERTH_QUEUE_POLICY,
  placementPolicy: config.BERTH_PLACEMENT_POLICY,
  backfillReserveAfterMs: config.BERTH_LIMITS.backfillReserveAfterS * 1_000,
  // The setting may be fractional; the protocol has whole milliseconds.
  lostAfterMs: Math.round(1_000 * config.BERTH_LIMITS.hostLostAfterS),
  hostLossPolicy: config.BERTH_HOST_LOSS,
  defaultMemoryBytes: config.BERTH_LIMITS.defaultMemoryBytes,
  bounds: config.BERTH_LIMITS,
  streams: streamRulesOf(config.BERTH_LIMITS),
});

/**
 * Reads the known settings; empty ones count as unset. Throws ConfigError that names every invalid setting,
 * never its value.
 */
function read<T>(schema: z.ZodType<T>, env: Environment): T {
  const given = Object.entries(env).filter(([name, value]) => name.startsWith('BERTH_') && value !== '');
  const result = schema.safeParse(Object.fromEntries(given), { error: schemaMessage });
  const issues = result.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  const problems = [...removedIn(env), ...issues];
  if (result.success && problems.length === 0) return result.data;
  throw new ConfigError(`Invalid settings. ${problems.join('; ')}`);
}
