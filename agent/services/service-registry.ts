/**
 * Owns what is known of each service on this host: what is wanted of it and which containers it has. Never acts on it
 * and never asks the engine.
 */
import { type Assignment, type IdRange, keyOf, type ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Container } from '../engine/engine.ts';
import type { OutputState } from '../logs/output-store.ts';
import type { WorkKind } from './concurrency-limits.ts';
import { type ServiceView, type StartState, sameKey } from './plan.ts';

export interface Work {
  kind: WorkKind;
  abort: AbortController;
}

export class TrackedService {
  readonly service: number;
  readonly containers = new Map<string, Container>();
  /** Generations that are to be gone, and to be reported so. */
  readonly departing = new Set<number>();
  /** Containers to look at again. */
  readonly stale = new Set<string>();
  assignment: Assignment | undefined;
  start: StartState = { kind: 'fresh' };
  detail: string | undefined;
  work: Work | undefined;
  /** The engine did not do its part: wait for the next look at everything. */
  blocked = false;
  pulled = false;
  /** Its logs are to be removed when nothing of it is here any more. */
  isForgotten = false;
  /** The lease has passed: what is left goes, connected or not. */
  lapsed = false;
  /** When it was last worked on, by the registry's clock. */
  touched = 0;

  constructor(service: number) {
    this.service = service;
  }

  assign(assignment: Assignment, start: StartState): void {
    if (this.assignment) this.departing.add(this.assignment.generation);
    this.departing.delete(assignment.generation);
    this.assignment = assignment;
    this.start = start;
    this.detail = undefined;
    this.pulled = false;
    for (const container of this.containers.values()) this.update(container);
  }

  unassign({ generation }: ServiceKey): void {
    this.departing.add(generation);
    if (this.assignment?.generation === generation) this.assignment = undefined;
  }

  has(key: ServiceKey): boolean {
    return [...this.containers.values()].some((container) => sameKey(container, key));
  }

  /** Gives up what runs or is to run, and tells which keys these were; what has ended is left for the control plane to hear of. */
  lapse(): ServiceKey[] {
    const { service, assignment, start } = this;
    const live = [...this.containers.values()].filter(({ state }) => state !== 'exited');
    const generations = new Set(live.map(({ generation }) => generation));
    const isWaiting =
      assignment && !this.has(assignment) && (start.kind === 'fresh' || start.kind === 'image-missing');
    if (isWaiting) generations.add(assignment.generation);
    const keys = [...generations].map((generation) => ({ service, generation }));
    for (const key of keys) this.unassign(key);
    this.lapsed = keys.length > 0;
    return keys;
  }

  /** Lets go of what was wanted where there is no container of it any more; false where there is one. */
  conclude(key: ServiceKey): boolean {
    if (this.has(key)) return false;
    if (this.assignment && sameKey(this.assignment, key)) this.assignment = undefined;
    return true;
  }

  update(container: Container): void {
    this.containers.set(container.id, container);
    const { assignment } = this;
    if (!assignment || !sameKey(container, assignment)) this.departing.add(container.generation);
    else if (container.state !== 'created' && this.start.kind !== 'failed') this.start = { kind: 'started' };
  }

  /** The generations that were to leave and have left. */
  departed(): number[] {
    const present = new Set([...this.containers.values()].map(({ generation }) => generation));
    return [...this.departing].filter((generation) => !present.has(generation));
  }

  /** Whether output of this key may still come. Of an ended container it does until all of it is in the store. */
  mayWrite(key: ServiceKey, output: (containerId: string) => OutputState): boolean {
    const { assignment, start, containers } = this;
    const container = [...containers.values()].find((candidate) => sameKey(candidate, key));
    if (container?.state === 'exited') return output(container.id) !== 'complete';
    if (container) return start.kind !== 'failed';
    const waiting = start.kind === 'fresh' || start.kind === 'image-missing';
    return waiting && assignment !== undefined && sameKey(assignment, key);
  }

  isEmpty(): boolean {
    return !this.assignment && !this.work && this.containers.size === 0 && this.departing.size === 0;
  }

  view(output: (containerId: string) => OutputState): ServiceView {
    const { assignment, start, detail } = this;
    return { assignment, containers: [...this.containers.values()], start, detail, output };
  }
}

export class ServiceRegistry {
  /** Services of which the control plane knows nothing: what runs of them is left alone. */
  unknown: readonly IdRange[] = [];
  readonly #tracked = new Map<number, TrackedService>();
  #clock = 0;

  get clock(): number {
    return this.#clock;
  }

  touch(tracked: TrackedService): void {
    tracked.touched = ++this.#clock;
  }

  get(service: number): TrackedService | undefined {
    return this.#tracked.get(service);
  }

  getOrCreate(service: number): TrackedService {
    const known = this.#tracked.get(service);
    if (known) return known;
    const tracked = new TrackedService(service);
    this.#tracked.set(service, tracked);
    return tracked;
  }

  all(): TrackedService[] {
    return [...this.#tracked.values()];
  }

  /** Keeps of what was wanted only these keys. */
  unassignAllExcept(wanted: ReadonlySet<string>): void {
    for (const tracked of this.all()) {
      const { assignment } = tracked;
      if (assignment && !wanted.has(keyOf(assignment))) tracked.unassign(assignment);
    }
  }

  drop(tracked: TrackedService): void {
    this.#tracked.delete(tracked.service);
  }

  isUnknown(service: number): boolean {
    return this.unknown.some(({ first, last }) => first <= service && service <= last);
  }

  /** Unknown services that have containers here. */
  leftAlone(): number[] {
    const left = this.all().filter(
      ({ service, containers }) => containers.size > 0 && this.isUnknown(service),
    );
    return left.map(({ service }) => service);
  }

  /** Gives up all that is known; returns which keys these were. */
  lapse(): ServiceKey[] {
    return this.all().flatMap((tracked) => (this.isUnknown(tracked.service) ? [] : tracked.lapse()));
  }

  /** Of all containers; `storedService`: the highest of a log. 0: none. */
  highestIds(storedService: number): { execution: number; service: number } {
    const containers = this.all().flatMap((tracked) => [...tracked.containers.values()]);
    const highest = (ids: (number | undefined)[]) =>
      ids.reduce<number>((highestSoFar, id) => Math.max(highestSoFar, id ?? 0), 0);
    return {
      execution: highest(containers.map(({ execution }) => execution)),
      service: highest([storedService, ...containers.map(({ service }) => service)]),
    };
  }

  withContainer(containerId: string): TrackedService | undefined {
    return this.all().find(({ containers }) => containers.has(containerId));
  }
}
