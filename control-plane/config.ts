/**
 * Settings of the control plane: names, defaults and checks. The entries (node.ts, worker.ts) pass in the
 * environment.
 */
import * as z from 'zod';
import { schemaMessage } from '../shared/application-words.ts';
import {
  defaultSchedulerConfig,
  hostLossPolicies,
  placementPolicies,
  queuePolicies,
  type SchedulerConfig,
} from './core/model/scheduler-config.ts';

const MAX_RESERVE_AFTER_S = 366 * 86_400;

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
  BERTH_ADMIN_PASSWORD: z.string().min(1).optional(),
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
  BERTH_UNKNOWN_CONTAINERS: z.enum(['keep', 'remove']).default('keep'),
});

/** Settings of a self-hosted control plane only. */
const nodeSettings = settings.extend({
  BERTH_HOST: z.string().min(1).default('127.0.0.1'),
  BERTH_PORT: z.coerce.number().int().min(0).max(65535).default(5001),
  BERTH_DATA_DIR: z.string().min(1).default('.berth'),
  BERTH_TRUST_PROXY: z.enum(['on', 'off']).default('off'),
  BERTH_LOCAL_AGENT: z.enum(['on', 'off']).default('on'),
  BERTH_SHOP: z.string().min(1).optional(),
});

export type Config = z.infer<typeof settings>;
export type NodeConfig = z.infer<typeof nodeSettings>;

export class ConfigError extends Error {
  override name = 'ConfigError';
}

type Environment = Record<string, unknown>;

/** Settings of earlier releases, with their new names. */
const renamed: Record<string, string> = { BERTH_HOLD_AFTER: 'BERTH_BACKFILL_RESERVE_AFTER' };

export const readConfig = (env: Environment): Config => read(settings, env);
export const readNodeConfig = (env: Environment): NodeConfig => read(nodeSettings, env);

export const schedulerConfigOf = (config: Config): SchedulerConfig => ({
  ...defaultSchedulerConfig,
  queuePolicy: config.BERTH_QUEUE_POLICY,
  placementPolicy: config.BERTH_PLACEMENT_POLICY,
  backfillReserveAfterMs: config.BERTH_BACKFILL_RESERVE_AFTER * 1_000,
  // The setting may be fractional; the protocol has whole milliseconds.
  lostAfterMs: Math.round(1_000 * config.BERTH_HOST_LOST_AFTER),
  hostLossPolicy: config.BERTH_HOST_LOSS,
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
