/** Use cases that show the scheduler's state. Public (api: statistics/scheduler). */
import { runningSinceMs, snapshotSeenWith } from '../../core/views/early-end.ts';
import type { SchedulerSnapshot, SchedulerStatistics } from '../../core/views/statistics.ts';
import { listEarlyEnds } from '../../store/executions/executions.ts';
import type { Context } from '../context.ts';

/** A few numbers; the cost does not depend on the length of the queue. */
export const schedulerSummary = ({ coordinator }: Context): Promise<SchedulerStatistics> =>
  coordinator.summary();

/** Every live execution by state, and every host, as the coordinator holds them. */
export const schedulerSnapshot = ({ coordinator }: Context): Promise<SchedulerSnapshot> =>
  coordinator.state();

/** The same as clients see it that do not see early ends (core/views/early-end.ts). */
export async function snapshotWithoutEarlyEnds({
  db,
  coordinator,
  nowMs,
}: Context): Promise<SchedulerSnapshot> {
  const [snapshot, early] = await Promise.all([
    coordinator.state(),
    listEarlyEnds(db, runningSinceMs(nowMs())),
  ]);
  return snapshotSeenWith(snapshot, early);
}
