/** Mutants of the scheduler, the queue, its bounds and quotas. */
import type { Mutant } from './mutant.ts';

export const schedulingMutants: readonly Mutant[] = [
  {
    name: 'set no alarm for the end of a time limit',
    file: 'control-plane/core/lifecycle/reconciler.ts',
    from: '  if (execution.ending === null) setDeadline(timeLimitMs(execution));',
    to: '',
  },
  {
    name: 'do not subtract the capacity of a placed service',
    inShortForm: true,
    file: 'control-plane/core/scheduling/gang-placement.ts',
    from: '    hostIndex.assume(host, service.requirement, -1);',
    to: '',
  },
  {
    name: 'count reservations under the quota instead of memory limits',
    file: 'control-plane/core/accounts/quota.ts',
    from: 'sign * times * memoryLimitOf(requirement, defaultMemoryBytes)',
    to: 'sign * times * requirement.memoryBytes',
  },
  {
    name: 'place a part of a gang',
    file: 'control-plane/core/scheduling/gang-placement.ts',
    from: 'placements.length === services.length ? placements : null',
    to: 'placements.length > 0 ? placements : null',
    faults: ['host drained'],
  },
  {
    name: 'place on drained hosts',
    file: 'control-plane/core/scheduling/host-filters.ts',
    from: 'isReachable(host) && host.schedulable && !blockingConditionOf(host);',
    to: 'isReachable(host) && !blockingConditionOf(host);',
  },
  {
    name: 'place instances beyond the bound',
    file: 'control-plane/core/scheduling/scheduler-state.ts',
    from: '  return over > 0 ?',
    to: '  return false ?',
    faults: ['a user floods the queue'],
  },
  {
    name: 'count executions as waiting that have left the queue',
    file: 'control-plane/core/state/execution-counts.ts',
    from: "    if (from === 'queued') this.#countWaiting(execution, -1);",
    to: '',
    faults: ['a user floods the queue'],
  },
  {
    name: 'count what waited under the bound of all users for ever',
    file: 'control-plane/core/state/execution-counts.ts',
    from: 'if (from !== null) this',
    to: "if (from !== null && from !== 'queued') this",
    faults: ['a user floods the queue'],
  },
];
