/** Health checks of containers: what an agent checks, and what it reports (PROTOCOL.md P210 to P214). */
import * as z from 'zod';
import {
  MAX_DETAIL_LENGTH,
  MAX_EXPANDED_LENGTH,
  MAX_PLAIN_LENGTH,
  MAX_WORDS,
  messageText,
} from './bounds.ts';

const periodMs = z.int().nonnegative().max(86_400_000);
const port = z.int().min(1).max(65_535);

const frameSchema = z.object({
  intervalMs: periodMs.min(1_000),
  timeoutMs: periodMs.min(1_000),
  /** As many failures one after the other make the container unhealthy. */
  retries: z.int().min(1).max(100),
  /** Failures so soon after the start do not count, unless a check has succeeded. */
  startPeriodMs: periodMs,
});

export const healthCheckSchema = z.discriminatedUnion('kind', [
  frameSchema.extend({ kind: z.literal('http'), port, path: z.string().max(MAX_PLAIN_LENGTH) }),
  frameSchema.extend({ kind: z.literal('tcp'), port }),
  /** Runs in the container. Must never be logged, because it may hold secrets. */
  frameSchema.extend({
    kind: z.literal('command'),
    words: z.array(z.string().max(MAX_EXPANDED_LENGTH)).min(1).max(MAX_WORDS),
  }),
  /** The command of the image's own check, with these times. */
  frameSchema.extend({ kind: z.literal('image') }),
]);
export type HealthCheck = z.infer<typeof healthCheckSchema>;

/** `detail`: what the last check has found, for people; empty before the first one. */
export const healthSchema = z.object({
  state: z.enum(['starting', 'healthy', 'unhealthy']),
  detail: messageText(MAX_DETAIL_LENGTH),
});
export type Health = z.infer<typeof healthSchema>;
