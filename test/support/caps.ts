/** Owns the rule of quotas as tests reckon it: from executions alone, without the totals that the core keeps. */
import type { Quota } from '../../control-plane/core/accounts/account.ts';
import type { Execution } from '../../control-plane/core/model/execution.ts';
import type { Service } from '../../control-plane/core/model/service.ts';

/** Executions, bytes and millionths of a core. */
export type Load = [executions: number, memoryBytes: number, microCores: number];

const COUNTED: readonly string[] = ['starting', 'running', 'cleaning up'];

export const loadOf = (executions: number, services: readonly Service[]): Load => [
  executions,
  services.reduce((sum, { requirement }) => sum + requirement.memoryBytes, 0),
  services.reduce((sum, { requirement }) => sum + Math.round(requirement.cores * 1e6), 0),
];

/** What of the user is there. */
export function present(executions: Iterable<Execution>, userId: number): Load {
  const counted = [...executions].filter((one) => one.userId === userId && COUNTED.includes(one.status));
  const placed = counted.flatMap(({ services }) => services).filter((one) => one.placed);
  return loadOf(counted.length, placed);
}

export const plus = (a: Load, b: Load): Load => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];

/** Whether `load` is beyond a cap on something that `asked` asks for. */
export function isBeyond(
  { concurrentExecutions, memoryBytes, cores }: Quota,
  load: Load,
  asked: Load,
): boolean {
  const caps: Load = [concurrentExecutions, memoryBytes, cores * 1e6];
  return caps.some((cap, at) => cap > 0 && (asked[at] ?? 0) > 0 && (load[at] ?? 0) > cap);
}
