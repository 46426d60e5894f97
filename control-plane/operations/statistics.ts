/** Owns the use cases of looking at the scheduler. Public (api: statistics/scheduler). */
import type { SchedulerState } from '../core/statistics.ts';
import { countWaiting } from '../store/executions.ts';
import type { Context } from './context.ts';

export interface SchedulerCounts {
  queued: number;
  cleaningUp: number;
}

/** Counts alone, from the database: cheap however long the queue is. */
export const schedulerCounts = ({ db }: Context): Promise<SchedulerCounts> => countWaiting(db);

/** Every live execution by what it is doing, and every host, as the coordinator has them. */
export const schedulerState = ({ coordination }: Context): Promise<SchedulerState> => coordination.state();
