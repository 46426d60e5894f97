/**
 * Admission of submissions: queues one, unless it is beyond what may wait (SCHED-12). An execution that was
 * admitted once may return to the queue beyond every bound. Pure.
 */
import { RESERVED_PER_USER, reserveOf } from '../model/bounds.ts';
import { OperationError } from '../model/errors.ts';
import { type Execution, waitingBytesOf } from '../model/execution.ts';
import { type Requirements, requirementsOf, weightOfServices } from '../model/resources.ts';
import { count, memoryText } from '../model/text.ts';
import { newTimeLimitS } from '../model/time-limit.ts';
import { usageOfAll } from '../scheduling/resource-demand.ts';
import type { Cluster } from '../state/cluster.ts';
import { assertEnabled, newExecution, newServices, type Submission } from './submission.ts';

/** When to try again: what waits leaves the queue one by one, so there is no exact time. */
const RETRY_AFTER_S = 30;

/** Queues a submission within the bounds. Throws OperationError, and consumes no id, if it is refused. */
export function submit(cluster: Cluster, submission: Submission, nowMs: number): Execution {
  assertEnabled(cluster, submission.userId);
  const ids = { ...cluster.nextIds };
  const requirements = requirementsOf(submission.application.services);
  const execution = newExecution(ids, submission, nowMs, requirements);
  execution.timeLimitS = newTimeLimitS(cluster.quotaOf(submission.userId), submission.timeLimitS);
  assertWithinBounds(cluster, execution, requirements);
  if (submission.withinQuota) assertWithinQuota(cluster, submission.userId, requirements);
  Object.assign(cluster.nextIds, ids);
  cluster.addExecution(execution);
  const { description: text, application } = submission;
  cluster.changes.newExecutions.set(execution, { text, application });
  // The rows of the services come later: meanwhile only the sequence has their ids.
  cluster.changes.raisedIds = { ...cluster.nextIds };
  return execution;
}

/** The execution that `submit` would queue, with its services. */
export function draft(cluster: Cluster, submission: Submission, nowMs: number): Execution {
  assertEnabled(cluster, submission.userId);
  const requirements = requirementsOf(submission.application.services);
  const execution = newExecution({ ...cluster.nextIds }, submission, nowMs, requirements);
  execution.timeLimitS = newTimeLimitS(cluster.quotaOf(submission.userId), submission.timeLimitS);
  assertWithinBounds(cluster, execution, requirements);
  execution.services = newServices(execution, submission.application, requirements);
  return execution;
}

/** Throws `too-many`, with the bound and how far it is reached, if the execution must not be queued. */
function assertWithinBounds(cluster: Cluster, execution: Execution, requirements: Requirements): void {
  const problem = sizeProblem(cluster, execution, requirements) ?? queueProblem(cluster, execution);
  if (problem !== null) throw new OperationError('too-many', problem, { retryAfterS: RETRY_AFTER_S });
}

/**
 * Throws `conflict` if the user has as many executions as the quota allows, or if the memory or the cores of
 * the quota are less than all that the user has placed, what its waiting executions need to start, and all
 * instances of the application. The messages are word for word those of the earlier platform.
 */
function assertWithinQuota(cluster: Cluster, userId: number, requirements: Requirements): void {
  const { executions, counts, schedulerConfig } = cluster;
  const { concurrentExecutions: limit, memoryBytes, cores } = cluster.quotaOf(userId);
  if (limit !== 0 && counts.unendedOf(userId) >= limit)
    throw new OperationError(
      'conflict',
      `You cannot run more than ${limit} executions at a time, quota exceeded.`,
    );
  if (memoryBytes === 0 && cores === 0) return;
  const { defaultMemoryBytes } = schedulerConfig;
  const used = { ...cluster.usage(userId) };
  const waiting = counts.waitingOf(userId).executions > 0 ? executions.values() : [];
  for (const { status, demand, userId: owner } of waiting) {
    if (status !== 'queued' || owner !== userId) continue;
    const needed = demand.usage(defaultMemoryBytes);
    used.memoryBytes += needed.memoryBytes;
    used.microCores += needed.microCores;
  }
  const exceeded = cluster.exceededLimits(userId, usageOfAll(requirements, defaultMemoryBytes), used);
  const over = exceeded.find(({ dimension }) => dimension === 'cores') ?? exceeded[0];
  if (!over) return;
  const amount = over.dimension === 'cores' ? `${over.over} cores` : `${over.over}B memory`;
  throw new OperationError(
    'conflict',
    `You requested ${amount} more than your quota allows, quota exceeded.`,
  );
}

function sizeProblem(
  { schedulerConfig: { bounds } }: Cluster,
  { serviceCount }: Execution,
  requirements: Requirements,
): string | null {
  if (serviceCount > bounds.instancesPerExecution)
    return `The application has ${serviceCount} instances, and an execution may have ${bounds.instancesPerExecution}. Split it, or ask an administrator to raise BERTH_LIMITS.instancesPerExecution.`;
  const textBytes = 1024 * weightOfServices(requirements);
  if (textBytes <= bounds.textBytesPerExecution) return null;
  return `The texts of its ${count(serviceCount, 'instance')} (command, environment and so on) have about ${memoryText(textBytes)} in all, and those of an execution may have ${memoryText(bounds.textBytesPerExecution)}. Put them into a volume, or ask an administrator to raise BERTH_LIMITS.textBytesPerExecution.`;
}

function queueProblem({ schedulerConfig: { bounds }, counts }: Cluster, execution: Execution): string | null {
  const own = counts.waitingOf(execution.userId);
  if (own.executions >= bounds.waitingPerUser)
    return `You have ${own.executions} executions waiting, and a user may have ${bounds.waitingPerUser}. Try again when some of them have started, or terminate some.`;
  const bytes = own.bytes + waitingBytesOf(execution);
  if (bytes > bounds.waitingBytesPerUser)
    return `With this one the descriptions of your waiting executions have ${memoryText(bytes)}, and those of a user may have ${memoryText(bounds.waitingBytesPerUser)}. Try again when some of them have started, or terminate some.`;
  const mayUseReserve = own.executions < RESERVED_PER_USER;
  const limit = bounds.waiting + (mayUseReserve ? reserveOf(bounds) : 0);
  if (counts.waiting < limit) return null;
  const reserve = mayUseReserve
    ? `, and ${reserveOf(bounds)} more of users with fewer than ${RESERVED_PER_USER}`
    : '';
  return `${counts.waiting} executions of all users are waiting, and the queue holds ${bounds.waiting}${reserve}. Try again when some of them have started.`;
}
