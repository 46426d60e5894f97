/**
 * Overview of the cluster: its hosts, the head of the queue with the reasons for waiting, and the last hour;
 * also the usage of each user. Pure.
 */

import { type Allowance, MICRO } from '../accounts/quota.ts';
import type { Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import { explainQueue } from './explanation.ts';
import { History, type Sample, type SavedSample, sampleOf } from './history.ts';
import { HostHistory, type HostSample } from './host-history.ts';
import {
  type HostDetail,
  type HostState,
  type HostView,
  hostDetailOf,
  hostIn,
  hostStateOf,
  hostViewOf,
  type MemoryLimits,
  memoryLimitsOf,
} from './host-view.ts';
import { type SchedulerSummary, schedulerSummaryOf } from './statistics.ts';
import { WaitingReasons } from './waiting-reasons.ts';

/** Search conditions; `queued` and `hosts` are the maximum numbers of results. */
export interface OverviewSearch {
  queued: number;
  hosts: number;
  /** A part of a host's name, of its address or of one of its labels; '' matches every host. */
  text: string;
  /** State of the hosts; null is any. */
  state: HostState | null;
}

export interface ClusterOverview {
  /** The matching hosts, in the order in which they joined. */
  hosts: HostView[];
  /** Number of matching hosts, including those beyond the maximum. */
  hostsFound: number;
  summary: SchedulerSummary;
  /** The memory limits of the services on connected hosts. */
  memoryLimits: MemoryLimits;
  /** The executions that would start first. */
  queue: QueuedView[];
  samples: Sample[];
}

/** A host with its last hour. */
export interface HostOverview extends HostDetail {
  /** Oldest first; the last one is of now. */
  samples: HostSample[];
}

export interface QueuedView {
  id: number;
  name: string;
  userId: number;
  userName: string;
  timeSubmitMs: number;
  /** 1 is the next to start. */
  position: number;
  /** Sentences for people: everything that prevents its start. */
  waitingFor: string[];
}

/** The descriptions of the executions at the head of the queue that are loaded for their explanation. */
const MAX_HEAD_BYTES = 4 * 2 ** 20;

/**
 * Builds overviews, and holds what lasts between two of them: the history, the last explanation of the
 * queue's head, and those of executions in lists.
 */
export class Overview {
  /** Explanations of executions in lists. */
  readonly reasons = new WaitingReasons();
  readonly #history = new History();
  readonly #hosts = new HostHistory();
  #head: { queue: QueuedView[]; fromMs: number; untilMs: number } | undefined;

  /** To be called after each turn. */
  note(cluster: Cluster, nowMs: number): void {
    this.#history.note(cluster, nowMs);
    this.#hosts.note(cluster.hosts, nowMs);
  }

  /** The samples stay as old as they are. */
  clockStepped(stepMs: number): void {
    this.#history.clockStepped(stepMs);
    this.#hosts.clockStepped(stepMs);
  }

  /** What was sampled after `atMs`. */
  samplesSince(atMs: number): SavedSample[] {
    return [...this.#history.since(atMs), ...this.#hosts.since(atMs)];
  }

  /** The samples of earlier coordinators, the oldest first. */
  restore(saved: readonly SavedSample[]): void {
    this.#history.restore(saved);
    this.#hosts.restore(saved);
  }

  /** Throws OperationError if there is no such host. */
  host(cluster: Cluster, id: number, nowMs: number): HostOverview {
    return { ...hostDetailOf(cluster, id), samples: this.#hosts.samples(hostIn(cluster, id), nowMs) };
  }

  of(cluster: Cluster, search: OverviewSearch, nowMs: number): ClusterOverview {
    const summary = schedulerSummaryOf(cluster);
    const found = [...cluster.hosts.values()].filter((host) => matches(cluster, host, search));
    return {
      hosts: found.slice(0, search.hosts).map((host) => hostViewOf(cluster, host)),
      hostsFound: found.length,
      summary,
      memoryLimits: memoryLimitsOf(
        cluster,
        [...cluster.hosts.values()].filter(({ connected }) => connected),
      ),
      queue: this.#queue(cluster, search.queued, nowMs),
      samples: this.#history.samples(sampleOf(cluster, summary, nowMs)),
    };
  }

  /** The executions that `of` explains next, whose services must be in memory. Their bytes are bounded. */
  head(cluster: Cluster, { queued }: OverviewSearch, nowMs: number): Execution[] {
    if (this.#cached(nowMs)) return [];
    let bytes = 0;
    return cluster.queue
      .projectedOrder((id) => cluster.fairShareKey(id))
      .slice(0, queued)
      .filter(({ descriptionBytes }) => {
        bytes += descriptionBytes;
        return bytes <= MAX_HEAD_BYTES;
      });
  }

  #cached(nowMs: number): QueuedView[] | undefined {
    const head = this.#head;
    return head && nowMs >= head.fromMs && nowMs < head.untilMs ? head.queue : undefined;
  }

  /**
   * Explaining ten waiting executions takes up to half a second with 10,000 full hosts and 100,000 waiting
   * executions, and open pages request it again at each event. The result is therefore reused: there for up
   * to 20 s, and with 100 hosts and a short queue for 0.1 s.
   */
  #queue(cluster: Cluster, limit: number, nowMs: number): QueuedView[] {
    const cached = this.#cached(nowMs);
    if (cached) return cached.slice(0, limit);
    const queue = queuedViewsOf(cluster, limit, nowMs);
    const maxAgeMs = cluster.hosts.size + cluster.queue.size / 10;
    this.#head = { queue, fromMs: nowMs, untilMs: nowMs + maxAgeMs };
    return queue;
  }
}

function matches(cluster: Cluster, host: Host, { text, state }: OverviewSearch): boolean {
  const part = text.toLowerCase();
  return (
    [host.name, host.address, ...host.labels].some((value) => value.toLowerCase().includes(part)) &&
    (state === null || hostStateOf(cluster, host) === state)
  );
}

const queuedViewsOf = (cluster: Cluster, limit: number, nowMs: number): QueuedView[] =>
  explainQueue(cluster, (order) => order.slice(0, limit), nowMs).map(({ execution, waitingFor }, at) => ({
    id: execution.id,
    name: execution.name,
    userId: execution.userId,
    userName: cluster.users.get(execution.userId)?.username ?? '',
    timeSubmitMs: execution.timeSubmitMs,
    position: at + 1,
    waitingFor,
  }));

/** What a user may use at once, and what the user uses now. */
export const allowanceOf = (cluster: Cluster, userId: number): Allowance => ({
  quota: { ...cluster.quotaOf(userId) },
  used: { ...cluster.usage(userId) },
});

/** A user's usage that counts under the quota now. */
export interface UserUsage {
  userId: number;
  executions: number;
  memoryBytes: number;
  cores: number;
}

/** The usage of every user with something running. */
export const usagesOf = (cluster: Cluster): UserUsage[] =>
  [...cluster.users.keys()]
    .map((id) => usageOf(cluster, id))
    .filter(({ executions, memoryBytes, cores }) => executions + memoryBytes + cores > 0);

function usageOf(cluster: Cluster, userId: number): UserUsage {
  const { executions, memoryBytes, microCores } = cluster.usage(userId);
  return { userId, executions, memoryBytes, cores: microCores / MICRO };
}
