/** Owns what is seen of the cluster as a whole: its hosts, the head of the queue and why it waits, the last hour; and what runs of whom. Pure. */
import type { Cluster } from './cluster.ts';
import { explainHead } from './explain.ts';
import type { History, Sample } from './history.ts';
import { type HostView, hostViewsOf } from './host-view.ts';
import { type Allowance, MICRO } from './quota.ts';
import { type SchedulerSummary, schedulerSummaryOf } from './statistics.ts';

export interface ClusterOverview {
  /** In the order in which they joined. */
  hosts: HostView[];
  summary: SchedulerSummary;
  /** Those that would start first, at most as many as were asked for. */
  queue: QueuedView[];
  samples: Sample[];
}

export interface QueuedView {
  id: number;
  name: string;
  userId: number;
  userName: string;
  timeSubmitMs: number;
  /** 1 is next. */
  position: number;
  /** Sentences for people: all that holds it. */
  waitingFor: string[];
}

export const overviewOf = (
  cluster: Cluster,
  history: History,
  mostQueued: number,
  nowMs: number,
): ClusterOverview => ({
  hosts: hostViewsOf(cluster),
  summary: schedulerSummaryOf(cluster),
  queue: explainHead(cluster, mostQueued, nowMs).map(({ execution, waitingFor }, at) => ({
    id: execution.id,
    name: execution.name,
    userId: execution.userId,
    userName: cluster.users.get(execution.userId)?.username ?? '',
    timeSubmitMs: execution.timeSubmitMs,
    position: at + 1,
    waitingFor,
  })),
  samples: history.samples(cluster, nowMs),
});

/** What a user may have at once, and has. */
export const allowanceOf = (cluster: Cluster, userId: number): Allowance => ({
  quota: { ...cluster.quotaOf(userId) },
  used: { ...cluster.usage(userId) },
});

/** What of a user counts under its quota now. */
export interface UserUsage {
  userId: number;
  executions: number;
  memoryBytes: number;
  cores: number;
}

/** Of those of whom anything runs. */
export const usagesOf = (cluster: Cluster): UserUsage[] =>
  [...cluster.users.keys()]
    .map((id) => usageOf(cluster, id))
    .filter(({ executions, memoryBytes, cores }) => executions + memoryBytes + cores > 0);

function usageOf(cluster: Cluster, userId: number): UserUsage {
  const { executions, memoryBytes, microCores } = cluster.usage(userId);
  return { userId, executions, memoryBytes, cores: microCores / MICRO };
}
