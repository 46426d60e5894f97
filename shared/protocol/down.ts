/** Messages that the control plane sends to an agent. */
import * as z from 'zod';
import {
  streamBytes,
  streamNumber,
  streamSignals,
  streamTargetSchema,
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
  MAX_TAIL_LINES,
  messageText,
} from './bounds.ts';
import { agentReleaseSchema } from './release.ts';
import { overlaySchema } from './swarm.ts';

const stream = z.int().nonnegative();
const revision = z.int().nonnegative();

/** How long the agent collects output before it sends it. The latest value holds for all its logs (P178). */
const collectMs = z.int().nonnegative().max(MAX_COLLECT_MS).optional();

/** How the agent renders a log stream. `usage` is not the output, but what the start used (P228). */
export const logFormatSchema = z.enum(['raw', 'timestamps', 'usage']);
export type LogFormat = z.infer<typeof logFormatSchema>;

/** Which part of a log a stream carries: by default all, followed to its end (P193). */
const logPartSchema = z.object({
  /** False: what there is at present. */
  follow: z.boolean().optional(),
  /** From so many lines before the present end on, in place of the offset. */
  tail: z.int().positive().max(MAX_TAIL_LINES).optional(),
});
export type LogPart = z.infer<typeof logPartSchema>;

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
  /**
   * Requests the log of this key from `offset` (0, or the `next` of a chunk); the agent may send `credit`
   * bytes for now.
   */
  serviceKeySchema.extend({
    type: z.literal('logs.open'),
    stream,
    offset: z.int().nonnegative(),
    credit: z.int().positive(),
    format: logFormatSchema,
    /** Absent: no longer than the agent does by itself (P156). */
    collectMs,
    ...logPartSchema.shape,
  }),
  /** `collectMs` is absent if it has not changed. */
  z.object({ type: z.literal('logs.credit'), stream, bytes: z.int().positive(), collectMs }),
  z.object({ type: z.literal('logs.close'), stream }),
  /** The agent must report now, and measure the usage of its containers (P179). Only with pulses. */
  z.object({ type: z.literal('report.request') }),
  /** For an agent on a manager of a swarm: containers are about to join this overlay network (P99). */
  overlaySchema.extend({ type: z.literal('network.make') }),
  /** The agent must update itself to this release (P200). */
  agentReleaseSchema.extend({ type: z.literal('update') }),
  /**
   * Connects a stream to a container of this key (P250). Its chunks are binary frames like those of logs,
   * with stream numbers from STREAM_NUMBERS on. The agent may send `credit` bytes for now.
   */
  serviceKeySchema.extend({
    type: z.literal('stream.open'),
    stream: streamNumber,
    target: streamTargetSchema,
    credit: streamBytes,
  }),
  z.object({ type: z.literal('stream.credit'), stream: streamNumber, bytes: streamBytes }),
  /** No more bytes follow: the end of standard input, or of a connection's one direction. */
  z.object({ type: z.literal('stream.end'), stream: streamNumber }),
  /** The stream is over. Late messages of the agent on it are ignored. */
  z.object({ type: z.literal('stream.reset'), stream: streamNumber }),
  terminalSizeSchema.extend({ type: z.literal('stream.resize'), stream: streamNumber }),
  z.object({ type: z.literal('stream.signal'), stream: streamNumber, signal: z.enum(streamSignals) }),
]);
export type Down = z.infer<typeof downSchema>;
export type StreamDown = Extract<Down, { type: `stream.${string}` }>;
