/**
 * Owns what the control plane has not yet acknowledged: the latest observation of each key, and the services whose logs
 * are gone (PROTOCOL.md P7, P14); and what is wrong with the host, which each report but the small ones tells anew (P40);
 * and what its containers use (P50). Never sends; a session takes what there is.
 */
import { keyOf, type ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Condition, HostUsage, Observation, Up } from '../../shared/protocol/up.ts';

export type Report = Extract<Up, { type: 'report' }>;

interface PendingObservation {
  observation: Observation;
  text: string;
  /** The report it last went with; 0: none on this connection. */
  sequence: number;
  acknowledged: boolean;
}

export class Reporter {
  readonly #observations = new Map<string, PendingObservation>();
  /** Service to the report that last named it. */
  readonly #forgotten = new Map<number, number>();
  #conditions: readonly Condition[] = [];
  #hasNewConditions = false;
  #usage: HostUsage | undefined;
  #sequence = 0;
  #listener: ((urgent: boolean) => void) | undefined;

  /** Calls `listener` when there is something new; not urgent where something better will follow soon. */
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
   * Whether that a key is gone has yet to be acknowledged. Whoever asks for it then has not heard of that, as a control plane
   * whose database is an older copy, and would count it as gone while it runs.
   */
  isGone(key: ServiceKey): boolean {
    return this.#observations.get(keyOf(key))?.observation.state === 'gone';
  }

  get conditions(): readonly Condition[] {
    return this.#conditions;
  }

  /** All there are now. */
  setConditions(conditions: readonly Condition[]): void {
    this.#conditions = conditions;
    this.#hasNewConditions = true;
    this.#listener?.(false);
  }

  /** What the containers use, for the next sign of life; undefined: not known. */
  setUsage(usage: HostUsage | undefined): void {
    this.#usage = usage;
  }

  forgot(services: readonly number[]): void {
    for (const service of services) this.#forgotten.set(service, 0);
    this.#listener?.(true);
  }

  /** A new connection knows nothing of what went over the old one. */
  reconnected(): void {
    for (const pending of this.#observations.values()) pending.sequence = 0;
    for (const service of this.#forgotten.keys()) this.#forgotten.set(service, 0);
    // The hello tells them.
    this.#hasNewConditions = false;
  }

  /** What was not yet sent on this connection; undefined where there is nothing. */
  changes(): Report | undefined {
    const report = this.#take((sequence) => sequence === 0);
    const isEmpty = report.observations.length + report.forgotten.length === 0;
    if (isEmpty && !this.#hasNewConditions) return undefined;
    return this.#hasNewConditions ? this.#withConditions(report) : report;
  }

  /** All that is not acknowledged, sent before or not, as the periodic sign of life; often empty. */
  everything(): Report {
    const report = this.#withConditions(this.#take(() => true));
    return this.#usage ? { ...report, usage: this.#usage } : report;
  }

  /** Returns the keys that are gone, as the control plane now knows. */
  acknowledge(sequence: number): ServiceKey[] {
    const covers = (sent: number) => sent > 0 && sent <= sequence;
    const gone: ServiceKey[] = [];
    for (const [key, pending] of this.#observations) {
      if (!covers(pending.sequence)) continue;
      pending.acknowledged = true;
      if (pending.observation.state !== 'gone') continue;
      // What is left of it would only grow.
      this.#observations.delete(key);
      gone.push(pending.observation);
    }
    for (const [service, sent] of this.#forgotten) if (covers(sent)) this.#forgotten.delete(service);
    return gone;
  }

  #withConditions(report: Report): Report {
    this.#hasNewConditions = false;
    return { ...report, conditions: [...this.#conditions] };
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
