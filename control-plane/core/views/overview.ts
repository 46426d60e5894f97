/** Owns what is seen of the cluster as a whole: its hosts, the head of the queue and why it waits, the last hour; and what runs of whom. Pure. */

import { type Allowance, MICRO } from '../accounts/quota.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import { explainHead } from './explanation.ts';
import { History, type Sample, sampleOf } from './history.ts';
import { type HostState, type HostView, hostStateOf, hostViewOf } from './host-view.ts';
import { type SchedulerSummary, schedulerSummaryOf } from './statistics.ts';

/** What is looked for; of each at most so many are told. */
export interface OverviewSearch {
  queued: number;
  hosts: number;
  /** A part of a host's name, address or one of its labels; '' is any. */
  text: string;
  /** Of hosts; null is any. */
  state: HostState | null;
}

export interface ClusterOverview {
  /** Those that were looked for, in the order in which they joined. */
  hosts: HostView[];
  /** How many there are of these. */
  hostsFound: number;
  summary: SchedulerSummary;
  /** Those that would start first. */
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

/** What of the overview outlives a look at it. */
export class Overview {
  readonly #history = new History();
  #head: { queue: QueuedView[]; fromMs: number; untilMs: number } | undefined;

  /** To be called after each turn. */
  note(cluster: Cluster, nowMs: number): void {
    this.#history.note(cluster, nowMs);
  }

  of(cluster: Cluster, search: OverviewSearch, nowMs: number): ClusterOverview {
    const summary = schedulerSummaryOf(cluster);
    const found = [...cluster.hosts.values()].filter((host) => isWanted(cluster, host, search));
    return {
      hosts: found.slice(0, search.hosts).map((host) => hostViewOf(cluster, host)),
      hostsFound: found.length,
      summary,
      queue: this.#queue(cluster, search.queued, nowMs),
      samples: this.#history.samples(sampleOf(cluster, summary, nowMs)),
    };
  }

  /**
   * To say why ten wait takes up to half a second where 10,000 hosts are full and 100,000 executions wait, and whoever looks
   * looks again at each event: there it is up to 20 s old; with 100 hosts and a short queue 0.1 s.
   */
  #queue(cluster: Cluster, most: number, nowMs: number): QueuedView[] {
    const known = this.#head;
    if (known && nowMs >= known.fromMs && nowMs < known.untilMs) return known.queue.slice(0, most);
    const queue = queuedViewsOf(cluster, most, nowMs);
    const lifeMs = cluster.hosts.size + cluster.queue.size / 10;
    this.#head = { queue, fromMs: nowMs, untilMs: nowMs + lifeMs };
    return queue;
  }
}

function isWanted(cluster: Cluster, host: Host, { text, state }: OverviewSearch): boolean {
  const wanted = text.toLowerCase();
  return (
    [host.name, host.address, ...host.labels].some((one) => one.toLowerCase().includes(wanted)) &&
    (state === null || hostStateOf(cluster, host) === state)
  );
}

const queuedViewsOf = (cluster: Cluster, most: number, nowMs: number): QueuedView[] =>
  explainHead(cluster, most, nowMs).map(({ execution, waitingFor }, at) => ({
    id: execution.id,
    name: execution.name,
    userId: execution.userId,
    userName: cluster.users.get(execution.userId)?.username ?? '',
    timeSubmitMs: execution.timeSubmitMs,
    position: at + 1,
    waitingFor,
  }));

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
