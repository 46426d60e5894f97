/** Schema and JSON of what a service used (H608). */
import * as z from 'zod';
import { MAX_USAGE_POINTS } from '../../../shared/protocol/usage-lines.ts';
import type { Resources } from '../../core/model/resources.ts';
import type { SeenUsage } from '../../operations/executions/usage.ts';

export const usageSchema = z
  .strictObject({
    start: z
      .number()
      .nullable()
      .describe('Time of the last start in seconds since 1970; null if its host has no samples of it'),
    samples: z
      .array(
        z.strictObject({
          time: z.number().describe('In seconds since 1970'),
          memory: z.int().nonnegative().describe('In bytes, the highest since the sample before'),
          cores: z.number().nonnegative().describe('Average since the sample before, or since the start'),
        }),
      )
      .max(MAX_USAGE_POINTS)
      .describe('Samples of the last start, oldest first'),
    reserved: z.strictObject({
      memory: z.int().nonnegative().describe('In bytes'),
      cores: z.number().nonnegative(),
    }),
  })
  .meta({ id: 'ServiceUsage' });

export type UsageJson = z.infer<typeof usageSchema>;

export const usageJson = ({ startedAtMs, samples }: SeenUsage, reserved: Resources): UsageJson => ({
  start: startedAtMs === null ? null : startedAtMs / 1_000,
  samples: samples.map(({ timeMs, memoryBytes, cores }) => ({
    time: timeMs / 1_000,
    memory: memoryBytes,
    cores,
  })),
  reserved: { memory: reserved.memoryBytes, cores: reserved.cores },
});
