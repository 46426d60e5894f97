/** Resource demand: what a start requires, with a key that is equal for equal demands. Pure. */
import { type Usage, usageOf } from '../accounts/quota.ts';
import { type Execution, essentialServices } from '../model/execution.ts';
import type { Requirement } from '../model/resources.ts';
import type { Service } from '../model/service.ts';

export interface ResourceDemand {
  /** Equal for equal demands. */
  readonly key: string;
  /** Each distinct requirement once. */
  readonly requirements: readonly Requirement[];
  /** What the start adds to the usage of the user. */
  readonly usage: Usage;
}

/** The demand of an execution's start. */
export const gangDemand = (execution: Execution): ResourceDemand => demandOf(essentialServices(execution), 1);

/** `executions` is how many executions the start adds to the user's usage. */
export function demandOf(
  services: readonly Pick<Service, 'requirement'>[],
  executions: number,
): ResourceDemand {
  const counts = new Map<string, [number, Requirement]>();
  for (const { requirement } of services) {
    const key = [requirement.memoryBytes, requirement.cores, ...requirement.labels].join(' ');
    const [count, first] = counts.get(key) ?? [0, requirement];
    counts.set(key, [count + 1, first]);
  }
  // Joined strings are stored as one object; template strings keep one object for each part.
  const key = Array.from(counts, ([need, [count]]) => [count, need].join('x')).join();
  const requirements = [...counts.values()].map(([, requirement]) => requirement);
  return { key, requirements, usage: usageOf(services, executions) };
}
