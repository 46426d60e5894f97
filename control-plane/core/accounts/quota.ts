/**
 * Owns what quotas allow: what of a user counts, and by how much a start would exceed the caps. The answer decides, and
 * says why something waits. Pure.
 */

import type { Service } from '../model/service.ts';
import type { Quota } from './account.ts';

/** What runs of a user, or what a start would add to it. Cores are counted in millionths, for sums of fractions drift. */
export interface Usage {
  executions: number;
  memoryBytes: number;
  microCores: number;
}

/** A cap that a start would exceed: `used` before, `wanted` by it, `over` the difference to the limit. In the quota's units. */
export interface ExceededLimit {
  dimension: 'executions' | 'memory' | 'cores';
  limit: number;
  used: number;
  wanted: number;
  over: number;
}

/** What a user may have at once, and has. */
export interface Allowance {
  quota: Quota;
  used: Usage;
}

export const MICRO = 1_000_000;

export const noUsage = (): Usage => ({ executions: 0, memoryBytes: 0, microCores: 0 });

/** What services reserve; `executions` is how many executions they begin. */
export function usageOf(services: Iterable<Pick<Service, 'requirement'>>, executions: number): Usage {
  const usage = { ...noUsage(), executions };
  for (const { requirement } of services) addUsage(usage, requirement, 1);
  return usage;
}

export function addUsage(usage: Usage, { memoryBytes, cores }: Service['requirement'], sign: 1 | -1): void {
  usage.memoryBytes += sign * memoryBytes;
  usage.microCores += sign * Math.round(cores * MICRO);
}

/** The caps that are exceeded where `wanted` comes to `used`; none where it may start. What is not wanted exceeds nothing. */
export function exceededLimits(quota: Quota, used: Usage, wanted: Usage): ExceededLimit[] {
  const { concurrentExecutions, memoryBytes, cores } = quota;
  return [
    excess('executions', concurrentExecutions, used.executions, wanted.executions, 1),
    excess('memory', memoryBytes, used.memoryBytes, wanted.memoryBytes, 1),
    excess('cores', cores, used.microCores, wanted.microCores, MICRO),
  ].filter((one) => one !== null);
}

/** `used` and `wanted` are in integers, `unit` of which make one of the limit's. A limit of 0 is none. */
function excess(
  dimension: ExceededLimit['dimension'],
  limit: number,
  used: number,
  wanted: number,
  unit: number,
): ExceededLimit | null {
  const over = used + wanted - limit * unit;
  if (limit === 0 || wanted === 0 || over <= 0) return null;
  return { dimension, limit, used: used / unit, wanted: wanted / unit, over: over / unit };
}
