/** Owns the messages an agent sends. Log bytes travel beside them as binary frames (codec.ts). */
import * as z from 'zod';
import { MAX_ID, portProtocolSchema, serviceKeySchema } from './assignment.ts';

const timeMs = z.number().nonnegative();
/** No id is longer than 15 digits. */
const highestId = z.int().nonnegative().max(MAX_ID);

/** What an agent saw of one (service, generation). The latest one replaces all before it. */
export const observationSchema = z.discriminatedUnion('state', [
  /** Working towards a start; `detail` is for people, e.g. pull progress. */
  serviceKeySchema.extend({ state: z.literal('preparing'), detail: z.string() }),
  serviceKeySchema.extend({ state: z.literal('created'), containerId: z.string() }),
  serviceKeySchema.extend({
    state: z.literal('running'),
    containerId: z.string(),
    ipAddress: z.string(),
    /** Published ports: container port to the host port the engine picked. */
    ports: z.array(z.object({ port: z.int(), protocol: portProtocolSchema, hostPort: z.int() })),
    startedAtMs: timeMs,
  }),
  serviceKeySchema.extend({
    state: z.literal('exited'),
    containerId: z.string(),
    exitCode: z.int(),
    outOfMemory: z.boolean(),
    finishedAtMs: timeMs,
  }),
  /** The start did not succeed, in the engine's own words. `temporary`: the same start may succeed later. */
  serviceKeySchema.extend({ state: z.literal('failed'), temporary: z.boolean(), message: z.string() }),
  /** No container of this key exists on the host, and none will without a new assignment. */
  serviceKeySchema.extend({
    state: z.literal('gone'),
    /** The agent stopped it by itself, since it had no contact for the lease (P33): neither an end nor a death. */
    lapsed: z.literal(true).optional(),
  }),
]);
export type Observation = z.infer<typeof observationSchema>;

export const hostNameSchema = z.string().min(1).max(128);
export const deploymentNameSchema = z.string().min(1);

/** Facts of the host, as its agent reports them; the reserve is already taken off. */
export const hostFactsSchema = z.object({
  name: hostNameSchema,
  /** Where clients reach published ports: a host name or IP address. */
  address: z.string().min(1),
  labels: z.array(z.string()),
  memoryBytes: z.int().nonnegative(),
  cores: z.number().nonnegative(),
  agentVersion: z.string(),
  engineVersion: z.string(),
});
export type HostFacts = z.infer<typeof hostFactsSchema>;

/** A report with more is refused as a whole. */
export const MAX_CONDITION_LENGTH = 500;

/**
 * A fault of the host itself, for administrators. `kind` is for programs (conditions.ts lists the known ones); a kind that
 * is not known is displayed and has no other effect.
 */
export const conditionSchema = z.object({
  kind: z.string().min(1).max(64),
  text: z.string().max(MAX_CONDITION_LENGTH),
});
export type Condition = z.infer<typeof conditionSchema>;
/** All there are at the moment (P40). */
const conditions = z.array(conditionSchema).max(16).optional();

/** What the containers of this deployment on the host really use. */
export const hostUsageSchema = z.object({
  memoryBytes: z.int().nonnegative(),
  cores: z.number().nonnegative(),
});
export type HostUsage = z.infer<typeof hostUsageSchema>;

export const upSchema = z.discriminatedUnion('type', [
  /** Always first. `inventory` is complete: every container of this deployment on the host. */
  z.object({
    type: z.literal('hello'),
    version: z.int(),
    /** The deployment whose containers the agent runs; another one than the control plane's own is refused. */
    deployment: deploymentNameSchema,
    host: hostFactsSchema,
    inventory: z.array(observationSchema),
    conditions,
    /** The highest ids that this host has seen, of its containers' labels and its stored logs; 0: none (P31). */
    highest: z.object({ execution: highestId, service: highestId }).optional(),
    /** The lease it keeps to since an earlier welcome (P32). */
    leaseMs: z.int().positive().optional(),
  }),
  /** Changed observations, resent until acknowledged; sent empty every report period as a sign of life. */
  z.object({
    type: z.literal('report'),
    sequence: z.int().positive(),
    observations: z.array(observationSchema),
    /** Services whose stored logs are gone, in answer to `forget`. */
    forgotten: z.array(z.int().positive()),
    conditions,
    usage: hostUsageSchema.optional(),
  }),
  /** Every byte of the stream was sent: `exited` (the container ended) or `missing` (this host has no such log). */
  z.object({
    type: z.literal('logs.end'),
    stream: z.int().nonnegative(),
    reason: z.enum(['exited', 'missing', 'failed']),
    message: z.string().optional(),
  }),
]);
export type Up = z.infer<typeof upSchema>;
export type Report = Extract<Up, { type: 'report' }>;
