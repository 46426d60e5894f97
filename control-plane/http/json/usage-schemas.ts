/** Schemas and JSON of what a service used (H608), and of the last hour of a host (H658). */
import * as z from 'zod';
import { MAX_USAGE_POINTS } from '../../../shared/protocol/usage-lines.ts';
import type { Resources } from '../../core/model/resources.ts';
import type { SeenHost } from '../../operations/cluster/cluster.ts';
import type { SeenUsage } from '../../operations/executions/usage.ts';
import { secondsOf } from './render.ts';

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
    reserved: z
      .strictObject({
        memory: z.int().nonnegative().describe('In bytes'),
        cores: z.number().nonnegative().describe('Cores'),
      })
      .describe('What the service has reserved'),
  })
  .meta({ id: 'ServiceUsage' });

export type UsageJson = z.infer<typeof usageSchema>;

export const usageJson = ({ startedAtMs, samples }: SeenUsage, reserved: Resources): UsageJson => ({
  start: secondsOf(startedAtMs),
  samples: samples.map(({ timeMs, memoryBytes, cores }) => ({
    time: timeMs / 1_000,
    memory: memoryBytes,
    cores,
  })),
  reserved: { memory: reserved.memoryBytes, cores: reserved.cores },
});

const bytes = z.int().nonnegative().describe('In bytes');
const cores = z.number().nonnegative().describe('Cores');

export const hostUsageSchema = z
  .strictObject({
    samples: z
      .array(
        z.strictObject({
          time: z.number().describe('In seconds since 1970'),
          memory_reserved: bytes,
          memory_used: bytes.nullable().describe('In bytes; null if it was not known'),
          cores_reserved: cores,
          cores_used: cores.nullable().describe('Null if it was not known'),
        }),
      )
      .describe('Samples of the last hour, oldest first; the last one is of now'),
    memory_total: bytes,
    cores_total: cores,
  })
  .meta({ id: 'HostUsage' });

export type HostUsageJson = z.infer<typeof hostUsageSchema>;

export const hostUsageJson = ({
  samples,
  memoryBytes,
  cores: total,
}: Pick<SeenHost, 'samples' | 'memoryBytes' | 'cores'>): HostUsageJson => ({
  samples: samples.map((one) => ({
    time: one.atMs / 1_000,
    memory_reserved: one.reservedMemoryBytes,
    memory_used: one.usedMemoryBytes,
    cores_reserved: one.reservedCores,
    cores_used: one.usedCores,
  })),
  memory_total: memoryBytes,
  cores_total: total,
});
