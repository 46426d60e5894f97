/**
 * Runs the real scheduler (control-plane/core) on a virtual clock: hosts carry out commands at once, and
 * applications end when their work is done. Once all essential instances run, each running instance does one
 * instance-second of work per second. No I/O and no random numbers: the same jobs give the same outcome.
 */

import { observe } from '../../control-plane/core/lifecycle/observations.ts';
import { nextDeadline, reconcile } from '../../control-plane/core/lifecycle/reconciler.ts';
import type { Execution } from '../../control-plane/core/model/execution.ts';
import type { SchedulerConfig } from '../../control-plane/core/model/scheduler-config.ts';
import { isAssigned, type Service } from '../../control-plane/core/model/service.ts';
import type { Cluster } from '../../control-plane/core/state/cluster.ts';
import type { Decision } from '../../control-plane/core/state/decision.ts';
import type { Application } from '../../shared/application-schema.ts';
import { application, needs, service } from '../../test/support/fixtures/applications.ts';
import { CoreRig, exited, gone, hostFacts, keyOfService, running } from '../../test/support/rigs/core-rig.ts';
import type { Job, Machines } from './workload.ts';

export interface Scheduler {
  /** `rigid`: every instance is essential, as with a scheduler without elastic services. */
  instances: 'rigid' | 'elastic';
  queue: SchedulerConfig['queuePolicy'];
}

/** A queued or running job. */
export interface Run {
  readonly job: Job;
  readonly execution: Execution;
  /** Instance-milliseconds of work that were left at `sinceMs`, when `rate` instances began to work. */
  leftMs: number;
  sinceMs: number;
  rate: number;
}

export interface Ended {
  job: Job;
  startMs: number;
  endMs: number;
}

/** The share of the hosts that was reserved for a while: of cores or memory, whichever is larger. */
export interface Allocation {
  share: number;
  forMs: number;
}

/** The earliest event first, and events of equal time in the order of their addition. */
class EventQueue<T> {
  /** The latest first. */
  readonly #entries: { timeMs: number; event: T }[] = [];

  get nextMs(): number | undefined {
    return this.#entries.at(-1)?.timeMs;
  }

  add(timeMs: number, event: T): void {
    let [from, to] = [0, this.#entries.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#entries[middle]?.timeMs ?? 0) > timeMs) from = middle + 1;
      else to = middle;
    }
    this.#entries.splice(from, 0, { timeMs, event });
  }

  take(): T | undefined {
    return this.#entries.pop()?.event;
  }
}

type Event = { kind: 'submit'; job: Job } | { kind: 'end'; run: Run; rate: number; sinceMs: number };

export class Simulation {
  readonly #rig: CoreRig;
  /** Runs by execution id. */
  readonly runs = new Map<number, Run>();
  readonly ended: Ended[] = [];
  /** Until the last submission, because the load ends there. */
  readonly allocations: Allocation[] = [];
  readonly #scheduler: Scheduler;
  readonly #machines: Machines;
  readonly #events = new EventQueue<Event>();
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
    // No host is ever lost.
    this.#rig = new CoreRig({ queuePolicy: scheduler.queue, lostAfterMs: Number.POSITIVE_INFINITY });
    this.#rig.nowMs = 0;
    const { cores, memoryBytes } = machines;
    for (let n = 1; n <= machines.hosts; n++) this.#rig.hello(hostFacts(`host${n}`, { cores, memoryBytes }));
    for (const job of jobs) this.#events.add(job.submitMs, { kind: 'submit', job });
    this.#lastSubmitMs = Math.max(...jobs.map(({ submitMs }) => submitMs));
  }

  get cluster(): Cluster {
    return this.#rig.cluster;
  }

  get nowMs(): number {
    return this.#rig.nowMs;
  }

  /** Runs until every job has ended. Throws if a job would never end. */
  run(): void {
    for (;;) {
      const deadlineMs = nextDeadline(this.cluster) ?? Number.POSITIVE_INFINITY;
      const nextMs = Math.min(this.#events.nextMs ?? Number.POSITIVE_INFINITY, deadlineMs);
      if (nextMs === Number.POSITIVE_INFINITY) break;
      this.#advance(nextMs);
      while (this.#events.nextMs === nextMs) this.#handle(this.#events.take() as Event);
      this.#turn();
    }
    if (this.runs.size > 0) throw new Error(`${this.runs.size} jobs would never end`);
  }

  #advance(nowMs: number): void {
    const forMs = Math.min(nowMs, this.#lastSubmitMs) - this.nowMs;
    if (forMs > 0) this.allocations.push({ share: this.#reservedShare(), forMs });
    this.#rig.nowMs = nowMs;
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

  #handle(event: Event): void {
    if (event.kind === 'submit') {
      this.#submit(event.job);
      return;
    }
    const { run, rate, sinceMs } = event;
    // An end that was projected at another rate is obsolete.
    if (run.rate !== rate || run.sinceMs !== sinceMs) return;
    const monitor = run.execution.services[0] as Service;
    this.#observe(monitor, exited(0));
  }

  #submit(job: Job): void {
    const execution = this.#rig.submit(this.#applicationOf(job));
    const leftMs = job.total * job.runMs;
    this.runs.set(execution.id, { job, execution, leftMs, sinceMs: this.nowMs, rate: 0 });
  }

  #applicationOf({ total, essential, cores, memoryBytes, runMs }: Job): Application {
    const worker = service({
      total_count: total,
      essential_count: this.#scheduler.instances === 'rigid' ? total : essential,
      resources: needs(memoryBytes, cores),
    });
    // Exact, as from a user who knows the application well: the core-minutes it takes.
    return { ...application(worker), size: Math.ceil((total * cores * runMs) / 60_000) };
  }

  /** Decides and carries out decisions until no decision follows. */
  #turn(): void {
    const changed = new Set<number>();
    for (;;) {
      const decisions = reconcile(this.cluster, this.nowMs);
      this.cluster.takeChanges();
      if (decisions.length === 0) break;
      for (const decision of decisions) this.#carryOut(decision, changed);
    }
    for (const id of changed) {
      const run = this.runs.get(id);
      if (run) this.#setRate(run);
    }
    this.#check(this);
  }

  #carryOut(decision: Decision, changed: Set<number>): void {
    if (decision.kind === 'finish') this.#finish(decision.execution);
    if (!('service' in decision)) return;
    const { service } = decision;
    changed.add(service.executionId);
    if (decision.kind === 'start' && isAssigned(service)) this.#observe(service, running);
    if (decision.kind === 'stop') this.#observe(service, gone);
  }

  #observe(service: Service, seen: typeof running): void {
    const observation = { ...seen, ...keyOfService(service) } as Parameters<typeof observe>[2];
    observe(this.cluster, this.#rig.hostOf(service), observation, this.nowMs);
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
    this.#events.add(endMs, { kind: 'end', run, rate: working, sinceMs: this.nowMs });
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
