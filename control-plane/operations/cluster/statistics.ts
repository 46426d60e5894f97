/** Use cases that show the scheduler's state. Public (api: statistics/scheduler). */
import type { SchedulerSnapshot, SchedulerStatistics } from '../../core/views/statistics.ts';
import { listEndedSince as findEndedSince } from '../../store/executions/executions.ts';
import type { Context } from '../context.ts';

/** A few numbers; the cost does not depend on the length of the queue. */
export const schedulerSummary = ({ coordinator }: Context): Promise<SchedulerStatistics> =>
  coordinator.summary();

/** Every live execution by state, and every host, as the coordinator holds them. */
export const schedulerSnapshot = ({ coordinator }: Context): Promise<SchedulerSnapshot> =>
  coordinator.state();

/** Ids of executions that started after `sinceMs`, and have ended or are ending. */
export const listEndedSince = ({ db }: Context, sinceMs: number): Promise<number[]> =>
  findEndedSince(db, sinceMs);
