/** Owns what a start asks for, and how starts that ask for the same are known by it. Pure. */
import { type Usage, usageOf } from '../accounts/quota.ts';
import { type Execution, essentialServices } from '../model/execution.ts';
import type { Requirement } from '../model/resources.ts';
import type { Service } from '../model/service.ts';

export interface ResourceDemand {
  /** The same for the same needs. */
  readonly key: string;
  /** Each that differs, once. */
  readonly requirements: readonly Requirement[];
  /** What a start adds to what runs of its user. */
  readonly usage: Usage;
}

/** What the start of an execution asks for. */
export const gangDemand = (execution: Execution): ResourceDemand => demandOf(essentialServices(execution), 1);

/** `executions` is how many executions the start begins. */
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
  // Texts that are joined are one object; those of templates are one for each of their parts.
  const key = Array.from(counts, ([need, [count]]) => [count, need].join('x')).join();
  const requirements = [...counts.values()].map(([, requirement]) => requirement);
  return { key, requirements, usage: usageOf(services, executions) };
}
