/** Messages that an agent sends. The bytes of channels travel beside them as binary frames (codec.ts). */
import * as z from 'zod';
import { channelBytes, channelNumber } from '../streams/targets.ts';
import { MAX_ID, portProtocolSchema, provenIdsSchema, serviceKeySchema } from './assignment.ts';
import {
  MAX_ADDRESS_LENGTH,
  MAX_CORES,
  MAX_DETAIL_LENGTH,
  MAX_FORGOTTEN,
  MAX_LABEL_LENGTH,
  MAX_LABELS,
  MAX_LEASE_MS,
  MAX_MEMORY_BYTES,
  MAX_NAME_LENGTH,
  MAX_OBSERVATIONS,
  MAX_PUBLISHED_PORTS,
  MAX_TIME_MS,
  messageText,
} from './bounds.ts';
import { healthSchema } from './health.ts';
import { swarmSchema } from './swarm.ts';

const timeMs = z.number().nonnegative().max(MAX_TIME_MS);
const memoryBytes = z.int().nonnegative().max(MAX_MEMORY_BYTES);
const cores = z.number().nonnegative().max(MAX_CORES);
/** Engines give 0 to a port that is not published. */
const port = z.int().min(0).max(65_535);
const containerId = z.string().max(MAX_NAME_LENGTH);
const highestId = z.int().nonnegative().max(MAX_ID);

/** What an agent observed of one (service, generation). The latest observation replaces all earlier ones. */
export const observationSchema = z.discriminatedUnion('state', [
  /** Preparing the start; `detail` is for people, for example the progress of a pull. */
  serviceKeySchema.extend({ state: z.literal('preparing'), detail: messageText(MAX_DETAIL_LENGTH) }),
  serviceKeySchema.extend({ state: z.literal('created'), containerId }),
  serviceKeySchema.extend({
    state: z.literal('running'),
    containerId,
    ipAddress: z.string().max(MAX_ADDRESS_LENGTH),
    /** Published ports: the container port, and the host port that the engine chose. */
    ports: z.array(z.object({ port, protocol: portProtocolSchema, hostPort: port })).max(MAX_PUBLISHED_PORTS),
    startedAtMs: timeMs,
    /** Somebody has paused the container, which does nothing until it is unpaused. */
    paused: z.literal(true).optional(),
    /** Absent if it is not checked (P210). */
    health: healthSchema.optional(),
  }),
  serviceKeySchema.extend({
    state: z.literal('exited'),
    containerId,
    exitCode: z.int32(),
    /** Whether a lack of memory has ended it. */
    outOfMemory: z.boolean(),
    /**
     * `none`: no process was killed for lack of memory at the end. `other-process`: one was, which did not
     * end the container. Absent: unknown.
     */
    memoryKill: z.enum(['none', 'other-process']).optional(),
    finishedAtMs: timeMs,
  }),
  /** The start failed, with the engine's message. `temporary`: the same start may succeed later. */
  serviceKeySchema.extend({ state: z.literal('failed'), temporary: z.boolean(), message: messageText() }),
  /** The host has no container of this key, and will have none without a new assignment. */
  serviceKeySchema.extend({
    state: z.literal('gone'),
    /** The agent itself stopped the container when its lease expired (P33): neither an end nor a death. */
    lapsed: z.literal(true).optional(),
  }),
]);
export type Observation = z.infer<typeof observationSchema>;

export const hostNameSchema = z.string().min(1).max(MAX_NAME_LENGTH);
export const deploymentNameSchema = z.string().min(1).max(MAX_NAME_LENGTH);

/** Facts of the host as its agent reports them, with the reserve already subtracted. */
export const hostFactsSchema = z.object({
  name: hostNameSchema,
  /** Where clients reach published ports: a host name or IP address. */
  address: z.string().min(1).max(MAX_ADDRESS_LENGTH),
  labels: z.array(z.string().max(MAX_LABEL_LENGTH)).max(MAX_LABELS),
  memoryBytes,
  cores,
  agentVersion: z.string().max(MAX_NAME_LENGTH),
  engineVersion: z.string().max(MAX_NAME_LENGTH),
});
export type HostFacts = z.infer<typeof hostFactsSchema>;

/**
 * The engine whose containers the inventory lists (P318). `accepted`: an administrator has accepted it in
 * place of the host's earlier one.
 */
export const hostEngineSchema = z.object({
  id: z.string().max(MAX_ADDRESS_LENGTH),
  accepted: z.literal(true).optional(),
});
export type HostEngine = z.infer<typeof hostEngineSchema>;

/** Longer texts about conditions are cut. */
export const MAX_CONDITION_LENGTH = 500;

/**
 * A fault of the host itself, for administrators. `kind` is for programs: conditions.ts lists the known
 * kinds. An unknown kind is displayed and has no other effect.
 */
export const conditionSchema = z.object({
  kind: z.string().min(1).max(64),
  text: messageText(MAX_CONDITION_LENGTH),
});
export type Condition = z.infer<typeof conditionSchema>;
/** Every current condition of the host (P40). */
const conditions = z.array(conditionSchema).max(16).optional();

/** The swarm of the host's engine; null: none. Absent: the agent does not join overlay networks (P98). */
const swarm = swarmSchema.nullable().optional();

/** What the containers of this deployment on the host really use. */
export const hostUsageSchema = z.object({ memoryBytes, cores });
export type HostUsage = z.infer<typeof hostUsageSchema>;

export const upSchema = z.discriminatedUnion('type', [
  /** Always the first message. `inventory` is complete: every container of this deployment on the host. */
  z.object({
    type: z.literal('hello'),
    version: z.int32(),
    /** The agent's PROTOCOL_HASH. */
    hash: z.string().max(64),
    /** The deployment whose containers the agent runs. The control plane refuses any other than its own. */
    deployment: deploymentNameSchema,
    host: hostFactsSchema,
    engine: hostEngineSchema,
    inventory: z.array(observationSchema).max(MAX_OBSERVATIONS),
    conditions,
    /**
     * The highest ids that this host has seen in the labels of its containers and in its stored logs; 0 if
     * none (P31).
     */
    highest: z.object({ execution: highestId, service: highestId }).optional(),
    /** The proven ids with the highest execution, and those with the highest service (P144). */
    idProofs: z.array(provenIdsSchema).max(2).optional(),
    /** The lease that the agent applies since an earlier welcome (P32). */
    leaseMs: z.int().positive().max(MAX_LEASE_MS).optional(),
    swarm,
  }),
  /**
   * Changed observations, resent until acknowledged. Sent without any every report period, as a sign of life.
   */
  z.object({
    type: z.literal('report'),
    sequence: z.int().positive().max(MAX_ID),
    observations: z.array(observationSchema).max(MAX_OBSERVATIONS),
    /** Services whose stored logs have been deleted, in answer to `forget`. */
    forgotten: z.array(z.int().positive().max(MAX_ID)).max(MAX_FORGOTTEN),
    conditions,
    usage: hostUsageSchema.optional(),
    swarm,
  }),
  /** The target is connected. The control plane may send `credit` bytes; absent: none. */
  z.object({ type: z.literal('channel.opened'), channel: channelNumber, credit: channelBytes.optional() }),
  z.object({ type: z.literal('channel.credit'), channel: channelNumber, bytes: channelBytes }),
  /**
   * No more bytes follow. With the exit code of a command, the channel is over, and so is one to output:
   * `missing` if this host has none.
   */
  z.object({
    type: z.literal('channel.end'),
    channel: channelNumber,
    exitCode: z.int32().optional(),
    missing: z.literal(true).optional(),
  }),
  /** The channel is over, for this reason. `refused`: it was never open. */
  z.object({
    type: z.literal('channel.reset'),
    channel: channelNumber,
    refused: z.boolean(),
    message: messageText(),
  }),
]);
export type Up = z.infer<typeof upSchema>;
export type ChannelUp = Extract<Up, { type: `channel.${string}` }>;
export type Report = Extract<Up, { type: 'report' }>;
export type Hello = Extract<Up, { type: 'hello' }>;
