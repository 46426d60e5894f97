/** Messages that an agent sends. Log bytes travel beside them as binary frames (codec.ts). */
import * as z from 'zod';
import { MAX_ID, portProtocolSchema, serviceKeySchema } from './assignment.ts';

const timeMs = z.number().nonnegative();
const highestId = z.int().nonnegative().max(MAX_ID);

/** What an agent observed of one (service, generation). The latest observation replaces all earlier ones. */
export const observationSchema = z.discriminatedUnion('state', [
  /** Preparing the start; `detail` is for people, for example the progress of a pull. */
  serviceKeySchema.extend({ state: z.literal('preparing'), detail: z.string() }),
  serviceKeySchema.extend({ state: z.literal('created'), containerId: z.string() }),
  serviceKeySchema.extend({
    state: z.literal('running'),
    containerId: z.string(),
    ipAddress: z.string(),
    /** Published ports: the container port, and the host port that the engine chose. */
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
  /** The start failed, with the engine's message. `temporary`: the same start may succeed later. */
  serviceKeySchema.extend({ state: z.literal('failed'), temporary: z.boolean(), message: z.string() }),
  /** The host has no container of this key, and will have none without a new assignment. */
  serviceKeySchema.extend({
    state: z.literal('gone'),
    /** The agent itself stopped the container when its lease expired (P33): neither an end nor a death. */
    lapsed: z.literal(true).optional(),
  }),
]);
export type Observation = z.infer<typeof observationSchema>;

export const hostNameSchema = z.string().min(1).max(128);
export const deploymentNameSchema = z.string().min(1);

/** Facts of the host as its agent reports them, with the reserve already subtracted. */
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

/** A report with a longer text is refused as a whole. */
export const MAX_CONDITION_LENGTH = 500;

/**
 * A fault of the host itself, for administrators. `kind` is for programs: conditions.ts lists the known
 * kinds. An unknown kind is displayed and has no other effect.
 */
export const conditionSchema = z.object({
  kind: z.string().min(1).max(64),
  text: z.string().max(MAX_CONDITION_LENGTH),
});
export type Condition = z.infer<typeof conditionSchema>;
/** Every current condition of the host (P40). */
const conditions = z.array(conditionSchema).max(16).optional();

/** What the containers of this deployment on the host really use. */
export const hostUsageSchema = z.object({
  memoryBytes: z.int().nonnegative(),
  cores: z.number().nonnegative(),
});
export type HostUsage = z.infer<typeof hostUsageSchema>;

export const upSchema = z.discriminatedUnion('type', [
  /** Always the first message. `inventory` is complete: every container of this deployment on the host. */
  z.object({
    type: z.literal('hello'),
    version: z.int(),
    /** The deployment whose containers the agent runs. The control plane refuses any other than its own. */
    deployment: deploymentNameSchema,
    host: hostFactsSchema,
    inventory: z.array(observationSchema),
    conditions,
    /**
     * The highest ids that this host has seen in the labels of its containers and in its stored logs; 0 if
     * none (P31).
     */
    highest: z.object({ execution: highestId, service: highestId }).optional(),
    /** The lease that the agent applies since an earlier welcome (P32). */
    leaseMs: z.int().positive().optional(),
  }),
  /**
   * Changed observations, resent until acknowledged. Sent without any every report period, as a sign of life.
   */
  z.object({
    type: z.literal('report'),
    sequence: z.int().positive(),
    observations: z.array(observationSchema),
    /** Services whose stored logs have been deleted, in answer to `forget`. */
    forgotten: z.array(z.int().positive()),
    conditions,
    usage: hostUsageSchema.optional(),
  }),
  /**
   * Every byte of the stream was sent: `exited` (the container has ended) or `missing` (this host has no such
   * log).
   */
  z.object({
    type: z.literal('logs.end'),
    stream: z.int().nonnegative(),
    reason: z.enum(['exited', 'missing', 'failed']),
    message: z.string().optional(),
  }),
]);
export type Up = z.infer<typeof upSchema>;
export type Report = Extract<Up, { type: 'report' }>;
