/** Messages that the control plane sends to an agent. */
import * as z from 'zod';
import {
  channelBytes,
  channelNumber,
  channelTargetSchema,
  streamSignals,
  terminalSizeSchema,
} from '../streams/targets.ts';
import { assignmentSchema, idRangeSchema, serviceKeySchema } from './assignment.ts';
import {
  MAX_ASSIGNMENTS,
  MAX_COLLECT_MS,
  MAX_FORGOTTEN,
  MAX_ID_RANGES,
  MAX_NAME_LENGTH,
  MAX_SHARES,
  messageText,
} from './bounds.ts';
import { agentReleaseSchema } from './release.ts';
import { overlaySchema } from './swarm.ts';

const channel = channelNumber;
const revision = z.int().nonnegative();

/** The cores that these executions, which are of one user, may use while others want them. */
const coreShareSchema = z.object({
  cores: z.number().nonnegative(),
  executions: z.array(z.int().positive()).max(MAX_SHARES),
});
export type CoreShare = z.infer<typeof coreShareSchema>;

export const downSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    version: z.int(),
    session: z.string().max(MAX_NAME_LENGTH),
    reportPeriodMs: z.int().positive(),
    /** The control plane's clock, with which the agent compares its own (P41). */
    timeMs: z.number(),
    /** After this time without contact the agent stops all its services (P32). */
    leaseMs: z.int().positive().optional(),
    /** The time over which agents spread their reconnections after all have lost their connection (P72). */
    spreadMs: z.int().nonnegative().optional(),
    /** Pulses of this period replace the reports that only show that the agent lives (P179). */
    pulseMs: z.int().positive().optional(),
    /** Where people reach the control plane (P317). Absent: where the agent does. */
    publicUrl: messageText().optional(),
    /** What of the hello waits for an administrator (P142). For people. */
    pending: messageText().optional(),
  }),
  /** The complete set: what is absent must not run. Sent in parts while `more` is true. */
  z.object({
    type: z.literal('sync'),
    revision,
    assignments: z.array(assignmentSchema).max(MAX_ASSIGNMENTS),
    more: z.boolean(),
    /**
     * Services unknown to this control plane: their containers must be left alone (P30). Sent with the last
     * part.
     */
    unknown: z.array(idRangeSchema).max(MAX_ID_RANGES).optional(),
  }),
  z.object({ type: z.literal('start'), revision, assignment: assignmentSchema }),
  serviceKeySchema.extend({ type: z.literal('stop'), revision }),
  /** The agent must delete the logs of these services. */
  z.object({ type: z.literal('forget'), services: z.array(z.int().positive()).max(MAX_FORGOTTEN) }),
  /** `timeMs`: the control plane's clock (P41). */
  z.object({
    type: z.literal('ack'),
    sequence: z.int().positive(),
    timeMs: z.number().optional(),
    /** Replaces the earlier shares; absent if they have not changed (P150). */
    coreShares: z.array(coreShareSchema).max(MAX_SHARES).optional(),
  }),
  /** How long the agent collects output before it sends it, in all its channels (P178). */
  z.object({ type: z.literal('collect'), ms: z.int().nonnegative().max(MAX_COLLECT_MS) }),
  /** The agent must report now, and measure the usage of its containers (P179). Only with pulses. */
  z.object({ type: z.literal('report.request') }),
  /** For an agent on a manager of a swarm: containers are about to join this overlay network (P99). */
  overlaySchema.extend({ type: z.literal('network.make') }),
  /** The agent must update itself to this release (P200). */
  agentReleaseSchema.extend({ type: z.literal('update') }),
  /**
   * Connects a channel to the service or container of this key (P250). The agent may send `credit` bytes.
   * `ended`: nothing will be written.
   */
  serviceKeySchema.extend({
    type: z.literal('channel.open'),
    channel,
    target: channelTargetSchema,
    credit: channelBytes,
    ended: z.literal(true).optional(),
  }),
  z.object({ type: z.literal('channel.credit'), channel, bytes: channelBytes }),
  /** No more bytes follow: the end of standard input, or of a connection's one direction. */
  z.object({ type: z.literal('channel.end'), channel }),
  /** The channel is over. Late messages of the agent on it are ignored. */
  z.object({ type: z.literal('channel.reset'), channel }),
  terminalSizeSchema.extend({ type: z.literal('channel.resize'), channel }),
  z.object({ type: z.literal('channel.signal'), channel, signal: z.enum(streamSignals) }),
]);
export type Down = z.infer<typeof downSchema>;
export type ChannelDown = Extract<Down, { type: `channel.${string}` }>;
