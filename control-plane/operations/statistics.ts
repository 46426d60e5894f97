/** Owns the use case of looking at the scheduler. Public (api: statistics/scheduler). */
import { countWaiting } from '../store/executions.ts';
import type { Context } from './context.ts';

export const schedulerStatistics = (context: Context): Promise<{ queued: number; cleaningUp: number }> =>
  countWaiting(context.db);
