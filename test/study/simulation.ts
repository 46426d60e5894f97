/**
 * Owns the real scheduler (control-plane/core) on a virtual clock: machines that obey at once, and applications that end
 * when their work is done. Every instance that runs does one instance-second of work a second, once all essential ones
 * run. No I/O, no chance: the same jobs give the same outcome.
 */

import { observe, welcomeHost } from '../../control-plane/core/lifecycle/observations.ts';
import { nextDeadline, reconcile } from '../../control-plane/core/lifecycle/reconciler.ts';
import { newExecution } from '../../control-plane/core/lifecycle/submission.ts';
import type { Execution } from '../../control-plane/core/model/execution.ts';
import { type Host, newHost } from '../../control-plane/core/model/host.ts';
import {
  defaultSchedulerConfig,
  type SchedulerConfig,
} from '../../control-plane/core/model/scheduler-config.ts';
import { isAssigned, type Service } from '../../control-plane/core/model/service.ts';
import { Cluster } from '../../control-plane/core/state/cluster.ts';
import type { Decision } from '../../control-plane/core/state/decision.ts';
import type { Application } from '../../shared/application-schema.ts';
import { exited, gone, hostFacts, keyOfService, quota, running, user } from '../support/rigs/core-rig.ts';
import { Agenda } from './agenda.ts';
import type { Job, Machines } from './workload.ts';

export interface Scheduler {
  /** `rigid`: every instance is essential, as where the scheduler knows no elastic ones. */
  instances: 'rigid' | 'elastic';
  queue: SchedulerConfig['queuePolicy'];
}

/** A job that is queued or runs. */
export interface Run {
  readonly job: Job;
  readonly execution: Execution;
  /** Instance-milliseconds that are left at `sinceMs`, when `rate` instances began to work on them. */
  leftMs: number;
  sinceMs: number;
  rate: number;
}

export interface Ended {
  job: Job;
  startMs: number;
  endMs: number;
}

/** A share of the machines that was reserved for a while, of cores or memory, whichever is more. */
export interface Allocation {
  share: number;
  forMs: number;
}

type Event = { kind: 'submit'; job: Job } | { kind: 'end'; run: Run; rate: number; sinceMs: number };

export class Simulation {
  readonly cluster: Cluster;
  /** By id of the execution. */
  readonly runs = new Map<number, Run>();
  readonly ended: Ended[] = [];
  /** Until the last submission: what comes after is the end of the study, not of the load. */
  readonly allocations: Allocation[] = [];
  nowMs = 0;
  readonly #scheduler: Scheduler;
  readonly #machines: Machines;
  readonly #agenda = new Agenda<Event>();
  readonly #lastSubmitMs: number;
  readonly #check: (simulation: Simulation) => void;

  /** `check` is called after every turn. */
  constructor(
    scheduler: Scheduler,
    machines: Machines,
    jobs: readonly Job[],
    check: (simulation: Simulation) => void = () => {},
  ) {
    this.#scheduler = scheduler;
    this.#machines = machines;
    this.#check = check;
    this.cluster = new Cluster(
      { execution: 1, service: 1, host: 1 },
      // No machine is ever lost.
      { ...defaultSchedulerConfig, queuePolicy: scheduler.queue, lostAfterMs: Number.POSITIVE_INFINITY },
    );
    this.cluster.setQuota(quota(1));
    this.cluster.setUser(user(1, 1));
    for (let n = 1; n <= machines.hosts; n++) this.#addHost(n);
    for (const job of jobs) this.#agenda.add(job.submitMs, { kind: 'submit', job });
    this.#lastSubmitMs = Math.max(...jobs.map(({ submitMs }) => submitMs));
  }

  /** Goes on until every job has ended; throws where one never would. */
  run(): void {
    for (;;) {
      const deadlineMs = nextDeadline(this.cluster) ?? Number.POSITIVE_INFINITY;
      const nextMs = Math.min(this.#agenda.nextMs ?? Number.POSITIVE_INFINITY, deadlineMs);
      if (nextMs === Number.POSITIVE_INFINITY) break;
      this.#pass(nextMs);
      while (this.#agenda.nextMs === nextMs) this.#happen(this.#agenda.take() as Event);
      this.#turn();
    }
    if (this.runs.size > 0) throw new Error(`${this.runs.size} jobs would never end`);
  }

  #addHost(id: number): void {
    const { cores, memoryBytes } = this.#machines;
    const host = newHost(id, `host${id}`, 0);
    this.cluster.addHost(host);
    welcomeHost(this.cluster, host, hostFacts(host.name, { cores, memoryBytes }), [], 0);
  }

  #pass(nowMs: number): void {
    const forMs = Math.min(nowMs, this.#lastSubmitMs) - this.nowMs;
    if (forMs > 0) this.allocations.push({ share: this.#reservedShare(), forMs });
    this.nowMs = nowMs;
  }

  #reservedShare(): number {
    const { hosts, cores, memoryBytes } = this.#machines;
    let [reservedCores, reservedBytes] = [0, 0];
    for (const host of this.cluster.hosts.values()) {
      reservedCores += host.reservedCores;
      reservedBytes += host.reservedMemoryBytes;
    }
    return Math.max(reservedCores / (hosts * cores), reservedBytes / (hosts * memoryBytes));
  }

  #happen(event: Event): void {
    if (event.kind === 'submit') {
      this.#submit(event.job);
      return;
    }
    const { run, rate, sinceMs } = event;
    // Of an end that was foreseen at another rate nothing holds any more.
    if (run.rate !== rate || run.sinceMs !== sinceMs) return;
    const monitor = run.execution.services[0] as Service;
    this.#see(monitor, exited(0));
  }

  #submit(job: Job): void {
    const submission = {
      userId: 1,
      name: job.kind,
      application: this.#applicationOf(job),
      description: '{}',
    };
    const execution = newExecution(this.cluster.nextIds, submission, this.nowMs);
    this.cluster.addExecution(execution);
    const leftMs = job.total * job.runMs;
    this.runs.set(execution.id, { job, execution, leftMs, sinceMs: this.nowMs, rate: 0 });
  }

  #applicationOf({ total, essential, cores, memoryBytes, runMs }: Job): Application {
    return {
      name: 'study',
      version: 3,
      will_end: true,
      // As of a user who knows it well: the core-minutes it takes.
      size: Math.ceil((total * cores * runMs) / 60_000),
      services: [
        {
          name: 'worker',
          image: 'none',
          monitor: true,
          total_count: total,
          essential_count: this.#scheduler.instances === 'rigid' ? total : essential,
          startup_order: 0,
          resources: { memory: { min: memoryBytes, max: null }, cores: { min: cores, max: null } },
          environment: [],
          volumes: [],
          ports: [],
          command: null,
        },
      ],
    };
  }

  /** Decides, lets the machines obey, and decides again, until nothing follows. */
  #turn(): void {
    const changed = new Set<number>();
    for (;;) {
      const decisions = reconcile(this.cluster, this.nowMs);
      this.cluster.takeChanges();
      if (decisions.length === 0) break;
      for (const decision of decisions) this.#obey(decision, changed);
    }
    for (const id of changed) {
      const run = this.runs.get(id);
      if (run) this.#setRate(run);
    }
    this.#check(this);
  }

  #obey(decision: Decision, changed: Set<number>): void {
    if (decision.kind === 'finish') this.#finish(decision.execution);
    if (!('service' in decision)) return;
    const { service } = decision;
    changed.add(service.executionId);
    if (decision.kind === 'start' && isAssigned(service)) this.#see(service, running);
    if (decision.kind === 'stop') this.#see(service, gone);
  }

  #see(service: Service, seen: typeof running): void {
    const host = this.cluster.hosts.get(service.hostId ?? 0) as Host;
    const observation = { ...seen, ...keyOfService(service) } as Parameters<typeof observe>[2];
    observe(this.cluster, host, observation, this.nowMs);
  }

  #setRate(run: Run): void {
    const { status, services } = run.execution;
    const working =
      status === 'running' ? services.filter((service) => service.status === 'active').length : 0;
    if (working === run.rate) return;
    run.leftMs -= run.rate * (this.nowMs - run.sinceMs);
    run.sinceMs = this.nowMs;
    run.rate = working;
    if (working === 0) return;
    const endMs = this.nowMs + Math.max(0, run.leftMs) / working;
    this.#agenda.add(endMs, { kind: 'end', run, rate: working, sinceMs: this.nowMs });
  }

  #finish(execution: Execution): void {
    const { id, status, errorMessage, timeStartMs, timeEndMs } = execution;
    const run = this.runs.get(id);
    if (!run || status !== 'terminated' || timeStartMs === null || timeEndMs === null)
      throw new Error(`execution ${id} ended as ${status}: ${errorMessage}`);
    this.runs.delete(id);
    this.ended.push({ job: run.job, startMs: timeStartMs, endMs: timeEndMs });
  }
}
