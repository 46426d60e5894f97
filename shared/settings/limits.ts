/**
 * Limits of the control plane and of the agent that few operators change, with their defaults. BERTH_LIMITS
 * overrides them together: a JSON object with the names below, or the path of a file with one.
 */

import * as z from 'zod';
import { parseBytes, sizeText } from '../sizes.ts';
import { MAX_CHANNELS } from '../streams/targets.ts';
import { fieldsSetting } from './fields-setting.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const DAY_S = 86_400;
const YEAR_S = 365 * DAY_S;
const WEEK_S = 7 * DAY_S;
const MAX_DAYS = 36_500;
const MAX_SIZE = 2 ** 50;
const MAX_MEMORY = 64 * GIB;

interface Range {
  min?: number;
  max?: number;
}

const between = (unit: string, min: number, max: number) =>
  z
    .number(`must be a number of ${unit}`)
    .min(min, `must be at least ${min} ${unit}`)
    .max(max, `must be at most ${max} ${unit}`);

/** A whole number of `unit`, such as `executions`. */
const count = (value: number, unit: string, { min = 1, max = 10_000_000 }: Range = {}) =>
  between(unit, min, max).int(`must be a whole number of ${unit}`).prefault(value);

/** A number of `unit`, perhaps with a fraction. */
const time = (value: number, unit: string, { min = 0, max = MAX_DAYS }: Range = {}) =>
  between(unit, min, max).prefault(value);

/** A number of bytes, or a size such as `64MiB`. */
const size = (value: number, { min = MIB, max = MAX_MEMORY }: Range = {}) =>
  z
    .union([z.string(), z.number()], 'must be a size like 64MiB')
    .transform((given, context) => {
      const bytes = typeof given === 'number' ? given : parseBytes(given);
      if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= min && bytes <= max) return bytes;
      context.addIssue(`must be a size from ${sizeText(min)} to ${sizeText(max)}, like 64MiB`);
      return z.NEVER;
    })
    .prefault(value);

/** In the order of the table in docs/operator-guide.md. */
const limitsSchema = z.object({
  // What waits, is placed and is recorded.
  waiting: count(100_000, 'executions'),
  waitingPerUser: count(10_000, 'executions'),
  waitingBytesPerUser: size(256 * MIB),
  placedInstances: count(200_000, 'instances'),
  adoptedInstances: count(200_000, 'instances'),
  /** The greatest is that of the application description. */
  instancesPerExecution: count(1_000, 'instances', { max: 1_000 }),
  textBytesPerExecution: size(8 * MIB),
  defaultMemoryBytes: size(512 * MIB, { min: 6 * MIB, max: MAX_SIZE }),
  backfillReserveAfterS: count(DAY_S, 'seconds', { min: 0, max: 366 * DAY_S }),
  hostLostAfterS: time(90, 'seconds', { min: 5, max: DAY_S }),
  unprovenIds: count(100_000, 'ids', { min: 0, max: 1_000_000_000 }),
  idempotencyKeysPerUser: count(10_000, 'keys'),
  /** Undefined: what the database records. */
  endedDays: between('days', 0, MAX_DAYS).optional(),
  auditRows: count(100_000, 'rows', { min: 1_000 }),
  auditDays: time(90, 'days'),
  auditedCommandLength: count(0, 'characters', { min: 0, max: 4_096 }),
  // Accounts.
  minPasswordLength: count(10, 'characters', { max: 128 }),
  waitingLogins: count(512, 'logins', { max: 100_000 }),
  sessionsPerUser: count(100, 'sessions', { max: 10_000 }),
  personalTokensPerUser: count(50, 'tokens', { max: 1_000 }),
  personalTokenDays: count(0, 'days', { min: 0, max: MAX_DAYS }),
  secretsPerUser: count(100, 'secrets', { max: 10_000 }),
  ldapTimeoutS: time(5, 'seconds', { min: 0.1, max: 30 }),
  ldapConnections: count(4, 'connections', { max: 64 }),
  // Requests and connections.
  bodyMemoryBytes: size(64 * MIB),
  connections: count(5_000, 'connections', { max: 1_000_000 }),
  connectionsPerAddress: count(2_000, 'connections', { max: 1_000_000 }),
  connectionsForAgents: count(1_000, 'connections', { max: 1_000_000 }),
  pipelinedRequests: count(16, 'requests', { max: 1_000 }),
  unreadBytes: size(256 * MIB),
  hstsMaxAgeS: count(YEAR_S, 'seconds', { min: 0, max: 2 * YEAR_S }),
  metricsHosts: count(500, 'hosts', { min: 0, max: 100_000 }),
  // Hosts and gateways.
  hostMessageBytes: size(32 * MIB),
  hostSecretBytes: size(32 * MIB, { min: 2 * MIB }),
  hostsPerGateway: count(100, 'hosts', { max: 10_000 }),
  gatewayBytes: size(32 * MIB),
  // Streams.
  streams: count(1_000, 'streams', { max: 100_000 }),
  streamsPerUser: count(50, 'streams', { max: 10_000 }),
  streamsPerService: count(32, 'streams', { max: MAX_CHANNELS }),
  streamsPerHost: count(MAX_CHANNELS, 'streams', { max: MAX_CHANNELS }),
  appRequests: count(64, 'requests', { max: MAX_CHANNELS }),
  waitingAppRequests: count(64, 'requests', { max: 10_000 }),
  streamIdleS: time(3_600, 'seconds', { min: 0.1, max: WEEK_S }),
  streamTimeS: time(DAY_S, 'seconds', { min: 0.1, max: WEEK_S }),
  // The agent.
  logDays: time(30, 'days', { min: 0.001 }),
  logBytes: size(GIB, { max: MAX_SIZE }),
  copies: count(16, 'copies', { max: 10_000 }),
  copyBytes: size(100 * GIB, { max: MAX_SIZE }),
  unusedImageDays: time(14, 'days'),
  minDiskBytes: size(GIB, { min: 0, max: MAX_SIZE }),
  criticalDiskBytes: size(512 * MIB, { min: 0, max: MAX_SIZE }),
  updateWaitS: time(60, 'seconds', { min: 1, max: 600 }),
});

export type Limits = z.infer<typeof limitsSchema>;
export type LimitName = keyof Limits;

export const limitNames = Object.keys(limitsSchema.shape) as LimitName[];
export const defaultLimits: Limits = limitsSchema.parse({});

/** The defaults on Cloudflare, where a Durable Object and an isolate have 128 MB each. */
export const workerLimits: Limits = {
  ...defaultLimits,
  waiting: 20_000,
  waitingPerUser: 2_000,
  waitingBytesPerUser: 32 * MIB,
  placedInstances: 20_000,
  adoptedInstances: 20_000,
  textBytesPerExecution: 4 * MIB,
  bodyMemoryBytes: 16 * MIB,
};

const FORM = 'must be a JSON object, or the path of a file that can be read and has one';

/**
 * BERTH_LIMITS as a setting. `form` is the message about a text that is not an object. limits-file.ts reads
 * the file beforehand.
 */
export const limitsSetting = (defaults: Limits, form = FORM) =>
  fieldsSetting(limitsSchema, { kind: 'limit', form, defaults });
