/**
 * Collects what the control plane has not acknowledged: the latest observation of each key, and the services
 * whose logs are gone (P7, P14). Also holds the host's conditions (P40) and its usage (P50). Never sends: a
 * session takes the reports.
 */
import { keyOf, type ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Swarm } from '../../shared/protocol/swarm.ts';
import type { Condition, HostUsage, Observation, Up } from '../../shared/protocol/up.ts';

export type Report = Extract<Up, { type: 'report' }>;

interface PendingObservation {
  observation: Observation;
  text: string;
  /** Sequence of the last report with it. 0: none on this connection. */
  sequence: number;
  acknowledged: boolean;
}

export class Reporter {
  readonly #observations = new Map<string, PendingObservation>();
  /** Service id to the sequence of the last report that named it. */
  readonly #forgotten = new Map<number, number>();
  #conditions: readonly Condition[] = [];
  #hasNewConditions = false;
  #usage: HostUsage | undefined;
  #swarm: Swarm | null | undefined;
  #sequence = 0;
  #listener: ((urgent: boolean) => void) | undefined;

  /** Calls `listener` on each change. A change is not urgent if a later observation will soon replace it. */
  onChange(listener: ((urgent: boolean) => void) | undefined): void {
    this.#listener = listener;
  }

  observe(observation: Observation): void {
    const text = JSON.stringify(observation);
    const key = keyOf(observation);
    if (this.#observations.get(key)?.text === text) return;
    this.#observations.set(key, { observation, text, sequence: 0, acknowledged: false });
    this.#listener?.(observation.state !== 'preparing' && observation.state !== 'created');
  }

  /**
   * True if the key's `gone` is not acknowledged yet. A control plane that assigns such a key has not
   * received the `gone`, for example because its database is an older copy. It would later count a running
   * key as gone.
   */
  isGone(key: ServiceKey): boolean {
    return this.#observations.get(keyOf(key))?.observation.state === 'gone';
  }

  get conditions(): readonly Condition[] {
    return this.#conditions;
  }

  /** Replaces all conditions. */
  setConditions(conditions: readonly Condition[]): void {
    this.#conditions = conditions;
    this.#hasNewConditions = true;
    this.#listener?.(false);
  }

  /** Sets the usage for the next sign of life. Undefined: unknown. */
  setUsage(usage: HostUsage | undefined): void {
    this.#usage = usage;
  }

  get swarm(): Swarm | null | undefined {
    return this.#swarm;
  }

  /** The swarm of the engine (P98). It travels with the conditions. */
  setSwarm(swarm: Swarm | null): void {
    if (JSON.stringify(swarm) === JSON.stringify(this.#swarm ?? null)) return;
    this.#swarm = swarm;
    this.#hasNewConditions = true;
    this.#listener?.(false);
  }

  forgot(services: readonly number[]): void {
    for (const service of services) this.#forgotten.set(service, 0);
    this.#listener?.(true);
  }

  /** Reports of an earlier connection do not count on a new one. */
  reconnected(): void {
    for (const pending of this.#observations.values()) pending.sequence = 0;
    for (const service of this.#forgotten.keys()) this.#forgotten.set(service, 0);
    // `hello` carries the conditions.
    this.#hasNewConditions = false;
  }

  /** Everything not yet sent on this connection. Undefined if there is nothing. */
  changes(): Report | undefined {
    const report = this.#take((sequence) => sequence === 0);
    const isEmpty = report.observations.length + report.forgotten.length === 0;
    if (isEmpty && !this.#hasNewConditions) return undefined;
    return this.#hasNewConditions ? this.#withConditions(report) : report;
  }

  /** Everything not yet acknowledged, sent before or not, as the periodic sign of life. Often empty. */
  everything(): Report {
    const report = this.#withConditions(this.#take(() => true));
    return this.#usage ? { ...report, usage: this.#usage } : report;
  }

  /** Returns the keys whose `gone` is now acknowledged. */
  acknowledge(sequence: number): ServiceKey[] {
    const covers = (sent: number) => sent > 0 && sent <= sequence;
    const gone: ServiceKey[] = [];
    for (const [key, pending] of this.#observations) {
      if (!covers(pending.sequence)) continue;
      pending.acknowledged = true;
      if (pending.observation.state !== 'gone') continue;
      // The entry is deleted, because acknowledged keys would accumulate.
      this.#observations.delete(key);
      gone.push(pending.observation);
    }
    for (const [service, sent] of this.#forgotten) if (covers(sent)) this.#forgotten.delete(service);
    return gone;
  }

  #withConditions(report: Report): Report {
    this.#hasNewConditions = false;
    const swarm = this.#swarm === undefined ? {} : { swarm: this.#swarm };
    return { ...report, conditions: [...this.#conditions], ...swarm };
  }

  #take(wanted: (sequence: number) => boolean): Report {
    this.#sequence += 1;
    const observations: Observation[] = [];
    for (const pending of this.#observations.values()) {
      if (pending.acknowledged || !wanted(pending.sequence)) continue;
      pending.sequence = this.#sequence;
      observations.push(pending.observation);
    }
    const forgotten: number[] = [];
    for (const [service, sent] of this.#forgotten) {
      if (!wanted(sent)) continue;
      this.#forgotten.set(service, this.#sequence);
      forgotten.push(service);
    }
    return { type: 'report', sequence: this.#sequence, observations, forgotten };
  }
}
