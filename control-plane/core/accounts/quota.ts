/**
 * Quotas: which usage counts for a user, and by how much a start would exceed the caps. The same result
 * decides a start and explains why an execution waits (C55). Pure.
 */

import type { Resources } from '../model/resources.ts';
import type { Service } from '../model/service.ts';
import type { Quota } from './account.ts';

/**
 * Usage of a user, or what a start would add to it. Cores are integers in millionths, because sums of
 * fractions drift.
 */
export interface Usage {
  executions: number;
  memoryBytes: number;
  microCores: number;
}

/**
 * A cap that a start would exceed, in the quota's units: usage before the start, demand of the start, and the
 * excess.
 */
export interface ExceededLimit {
  dimension: 'executions' | 'memory' | 'cores';
  limit: number;
  used: number;
  wanted: number;
  over: number;
}

/** What a user may use at once, and what the user uses now. */
export interface Allowance {
  quota: Quota;
  used: Usage;
}

export const MICRO = 1_000_000;

export const noUsage = (): Usage => ({ executions: 0, memoryBytes: 0, microCores: 0 });

/** What the services reserve; `executions` is how many executions they start. */
export function usageOf(services: Iterable<Pick<Service, 'requirement'>>, executions: number): Usage {
  const usage = { ...noUsage(), executions };
  for (const { requirement } of services) addUsage(usage, requirement, 1);
  return usage;
}

export function addUsage(usage: Usage, { memoryBytes, cores }: Resources, sign: 1 | -1): void {
  usage.memoryBytes += sign * memoryBytes;
  usage.microCores += sign * Math.round(cores * MICRO);
}

/**
 * The caps that `used` and `wanted` together exceed; empty if the start is allowed. A dimension without
 * demand exceeds nothing.
 */
export function exceededLimits(quota: Quota, used: Usage, wanted: Usage): ExceededLimit[] {
  const { concurrentExecutions, memoryBytes, cores } = quota;
  return [
    excess('executions', concurrentExecutions, used.executions, wanted.executions, 1),
    excess('memory', memoryBytes, used.memoryBytes, wanted.memoryBytes, 1),
    excess('cores', cores, used.microCores, wanted.microCores, MICRO),
  ].filter((limit) => limit !== null);
}

/** `used` and `wanted` are integers; `unit` of them are one unit of the limit. A limit of 0 means no cap. */
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
