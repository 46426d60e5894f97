/** Owns the use cases of looking at the scheduler. Public (api: statistics/scheduler). */
import type { SchedulerState, SchedulerSummary } from '../../core/views/statistics.ts';
import type { Context } from '../context.ts';

/** A few numbers: cheap however long the queue is. */
export const schedulerSummary = ({ coordinator }: Context): Promise<SchedulerSummary> =>
  coordinator.summary();

/** Every live execution by what it is doing, and every host, as the coordinator has them. */
export const schedulerState = ({ coordinator }: Context): Promise<SchedulerState> => coordinator.state();
