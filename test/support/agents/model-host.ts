/**
 * A model of a host and its agent, for simulations of the core. It obeys starts and stops, stores its reports
 * while it is not connected, and fails only on request. Counts the containers it makes, for the rules on
 * starts.
 */
import type { HostFacts, Observation } from '../../../shared/protocol/up.ts';
import { created, exited, failed, gone, hostFacts, running } from '../rigs/core-rig.ts';

interface Key {
  service: number;
  generation: number;
}

/** `vanished`: a person removed the container. It was started once, so it is not started again. */
type Phase = 'wanted' | 'created' | 'running' | 'exited' | 'failed' | 'vanished';

export type ServiceScript = 'well' | 'exit' | 'crash' | 'fail' | 'fail-for-now' | 'vanish';

interface Entry extends Key {
  phase: Phase;
  exitCode: number;
  temporary: boolean;
  stopping: boolean;
}

const nameOf = ({ service, generation }: Key): string => `${service}.${generation}`;

export class ModelHost {
  readonly facts: HostFacts;
  connected = false;
  /** Number of containers made of each key: at most one (P5). */
  readonly made = new Map<string, number>();
  readonly #entries = new Map<string, Entry>();
  /** The latest unacknowledged observation of each key. */
  readonly #unacknowledged = new Map<string, Observation>();
  #forgotten: number[] = [];

  constructor(name: string, changes: Partial<HostFacts>) {
    this.facts = hostFacts(name, changes);
  }

  /** Replaces the machine: nothing from before is left. */
  wipe(): void {
    this.connected = false;
    this.#entries.clear();
    this.#unacknowledged.clear();
    this.#forgotten = [];
  }

  /** Services that have a container now. */
  get containers(): number[] {
    return [...this.#entries.values()]
      .filter(({ phase }) => phase === 'created' || phase === 'running' || phase === 'exited')
      .map(({ service }) => service);
  }

  /** The inventory of a hello: containers and failed starts. */
  inventory(): Observation[] {
    return [...this.#entries.values()]
      .filter(({ phase }) => phase !== 'wanted' && phase !== 'vanished')
      .map(observationOf);
  }

  sync(assigned: readonly Key[]): void {
    const names = new Set(assigned.map(nameOf));
    for (const entry of this.#entries.values()) if (!names.has(nameOf(entry))) entry.stopping = true;
    for (const key of assigned) this.start(key);
  }

  start(key: Key): void {
    if (this.#entries.has(nameOf(key))) return;
    const fresh = { phase: 'wanted', exitCode: 0, temporary: false, stopping: false } as const;
    this.#entries.set(nameOf(key), { ...keyOf(key), ...fresh });
  }

  stop(key: Key): void {
    const entry = this.#entries.get(nameOf(key));
    if (entry) entry.stopping = true;
    else this.#report({ ...gone, ...keyOf(key) } as Observation);
  }

  forget(service: number): void {
    this.#forgotten.push(service);
  }

  /**
   * Advances one entry by one step: it goes if it is to stop, otherwise it advances towards running, or to
   * the end that `script` specifies.
   */
  step(pick: number, script: ServiceScript): void {
    const entries = [...this.#entries.values()];
    const entry = entries[pick % entries.length];
    if (!entry) return;
    if (entry.stopping) {
      this.#entries.delete(nameOf(entry));
      this.#report({ ...gone, ...keyOf(entry) } as Observation);
      return;
    }
    const ended = entry.phase === 'exited' || entry.phase === 'failed' || entry.phase === 'vanished';
    if (ended) return;
    entry.phase = this.#next(entry, script);
    this.#report(observationOf(entry));
  }

  /** Returns the pending report, and clears it as an ack would. */
  takeReport(): { observations: Observation[]; forgotten: number[] } {
    const report = { observations: [...this.#unacknowledged.values()], forgotten: this.#forgotten };
    this.#unacknowledged.clear();
    this.#forgotten = [];
    return report;
  }

  #next(entry: Entry, script: ServiceScript): Phase {
    if (entry.phase === 'running') {
      if (script === 'vanish') return 'vanished';
      if (script !== 'exit' && script !== 'crash') return 'running';
      entry.exitCode = script === 'crash' ? 3 : 0;
      return 'exited';
    }
    if (script === 'fail' || script === 'fail-for-now') {
      entry.temporary = script === 'fail-for-now';
      return 'failed';
    }
    if (entry.phase === 'created') return 'running';
    this.made.set(nameOf(entry), (this.made.get(nameOf(entry)) ?? 0) + 1);
    return 'created';
  }

  #report(observation: Observation): void {
    this.#unacknowledged.set(nameOf(observation), observation);
  }
}

const keyOf = ({ service, generation }: Key): Key => ({ service, generation });

function observationOf(entry: Entry): Observation {
  const seen = {
    wanted: { state: 'preparing', detail: '' },
    created,
    running,
    exited: exited(entry.exitCode),
    failed: failed(entry.temporary),
    vanished: gone,
  }[entry.phase];
  return { ...seen, ...keyOf(entry) } as Observation;
}
