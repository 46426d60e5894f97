/** Messages that the control plane sends to an agent. */
import * as z from 'zod';
import { assignmentSchema, idRangeSchema, serviceKeySchema } from './assignment.ts';

const stream = z.int().nonnegative();
const revision = z.int().nonnegative();

/** How the agent renders the bytes of a log stream. */
export const logFormatSchema = z.enum(['raw', 'timestamps']);
export type LogFormat = z.infer<typeof logFormatSchema>;

export const downSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    version: z.int(),
    session: z.string(),
    reportPeriodMs: z.int().positive(),
    /** The control plane's clock, with which the agent compares its own (P41). */
    timeMs: z.number(),
    /** After this time without contact the agent stops all its services (P32). */
    leaseMs: z.int().positive().optional(),
    /** The time over which agents spread their reconnections after all have lost their connection (P72). */
    spreadMs: z.int().nonnegative().optional(),
  }),
  /** The complete set: what is absent must not run. Sent in parts while `more` is true. */
  z.object({
    type: z.literal('sync'),
    revision,
    assignments: z.array(assignmentSchema),
    more: z.boolean(),
    /**
     * Services unknown to this control plane: their containers must be left alone (P30). Sent with the last
     * part.
     */
    unknown: z.array(idRangeSchema).optional(),
  }),
  z.object({ type: z.literal('start'), revision, assignment: assignmentSchema }),
  serviceKeySchema.extend({ type: z.literal('stop'), revision }),
  /** The agent must delete the logs of these services. */
  z.object({ type: z.literal('forget'), services: z.array(z.int().positive()) }),
  /** `timeMs`: the control plane's clock (P41). */
  z.object({ type: z.literal('ack'), sequence: z.int().positive(), timeMs: z.number().optional() }),
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
  }),
  z.object({ type: z.literal('logs.credit'), stream, bytes: z.int().positive() }),
  z.object({ type: z.literal('logs.close'), stream }),
]);
export type Down = z.infer<typeof downSchema>;
