/** Owns the messages the control plane sends to an agent. */
import * as z from 'zod';
import { assignmentSchema, idRangeSchema, serviceKeySchema } from './assignment.ts';

const stream = z.int().nonnegative();
const revision = z.int().nonnegative();

/** How the bytes of a log stream are rendered by the agent. */
export const logFormatSchema = z.enum(['raw', 'timestamps']);
export type LogFormat = z.infer<typeof logFormatSchema>;

export const downSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    version: z.int(),
    session: z.string(),
    reportPeriodMs: z.int().positive(),
    /** The control plane's clock, for the agent to compare its own with. */
    timeMs: z.number(),
    /** Without contact for this long the agent stops all that it runs (P32). */
    leaseMs: z.int().positive().optional(),
    /** Over how long the agents of this control plane come back when all have lost their connection (P72). */
    spreadMs: z.int().nonnegative().optional(),
  }),
  /** The whole truth: what is not in it must not run. Comes in parts while `more` is true. */
  z.object({
    type: z.literal('sync'),
    revision,
    assignments: z.array(assignmentSchema),
    more: z.boolean(),
    /** Services of which this control plane knows nothing: their containers are left alone (P30). With the last part. */
    unknown: z.array(idRangeSchema).optional(),
  }),
  z.object({ type: z.literal('start'), revision, assignment: assignmentSchema }),
  serviceKeySchema.extend({ type: z.literal('stop'), revision }),
  /** The logs of these services are no longer wanted. */
  z.object({ type: z.literal('forget'), services: z.array(z.int().positive()) }),
  /** `timeMs`: the control plane's clock (P41). */
  z.object({ type: z.literal('ack'), sequence: z.int().positive(), timeMs: z.number().optional() }),
  /** Send the log of this key from `offset` (a position a chunk gave, or 0), at most `credit` bytes of it for now. */
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
