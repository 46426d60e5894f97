/**
 * Quotas: which usage counts for a user, and by how much a start would exceed the caps. The same result
 * decides a start and explains why an execution waits (C55). Pure.
 */

import { memoryLimitOf, type Requirement, type Usage } from '../model/resources.ts';
import type { Quota } from './account.ts';

export type { Usage } from '../model/resources.ts';

/**
 * A cap that a start would exceed, in the quota's units: usage before the start, demand of the start, and the
 * excess.
 */
export interface ExceededLimit {
  /** `instances` is the bound on placed instances of all users. Quotas have no such cap. */
  dimension: 'executions' | 'memory' | 'cores' | 'instances';
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

/** What counts under the quota: memory limits and reserved cores. `times` is how many services are alike. */
export function addUsage(
  usage: Usage,
  requirement: Pick<Requirement, 'limitBytes' | 'cores'>,
  defaultMemoryBytes: number,
  sign: 1 | -1,
  times = 1,
): void {
  usage.memoryBytes += sign * times * memoryLimitOf(requirement, defaultMemoryBytes);
  usage.microCores += sign * times * Math.round(requirement.cores * MICRO);
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
  const over = used + wanted - Math.round(limit * unit);
  if (limit === 0 || wanted === 0 || over <= 0) return null;
  return { dimension, limit, used: used / unit, wanted: wanted / unit, over: over / unit };
}
