/**
 * Service registry: the assignment and the containers of each service on this host. Never acts on them and
 * never calls the engine.
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

/** `isPaused`: not tried again yet. */
export interface Stuck {
  reason: string;
  attempts: number;
  isPaused: boolean;
}

export class TrackedService {
  readonly service: number;
  readonly containers = new Map<string, Container>();
  /** Generations that must go, and must then be reported as gone. */
  readonly departing = new Set<number>();
  /** Ids of containers to inspect again. */
  readonly stale = new Set<string>();
  assignment: Assignment | undefined;
  start: StartState = { kind: 'fresh' };
  detail: string | undefined;
  work: Work | undefined;
  /** An engine call failed: wait for the next refresh. */
  blocked = false;
  /** The engine refuses to stop or remove a container, for this reason. */
  stuck: Stuck | undefined;
  pulled = false;
  /** Its logs must be removed when its last container is gone. */
  isForgotten = false;
  /** The agent gave the service up: its containers are removed even while disconnected. */
  lapsed = false;
  /** Time of its last work, by the registry's clock. */
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

  /** Whether a container of the key is here, or may soon be. */
  mayHold(key: ServiceKey): boolean {
    const isAssigned = this.assignment !== undefined && sameKey(this.assignment, key);
    return isAssigned || this.work !== undefined || this.has(key);
  }

  /**
   * Gives up the containers that are not ended and the start that is pending; returns their keys. Ended
   * containers stay, because their end is still to be reported.
   */
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

  /** Drops the assignment of a finished key. False if the key still has a container. */
  conclude(key: ServiceKey): boolean {
    if (this.has(key)) return false;
    if (this.assignment && sameKey(this.assignment, key)) this.assignment = undefined;
    return true;
  }

  /** Makes the start of a running key a failure. False if the key is not assigned, or no longer runs. */
  fail(key: ServiceKey, message: string): boolean {
    const { assignment, containers } = this;
    const isRunning = [...containers.values()].some((one) => sameKey(one, key) && one.state === 'running');
    if (!isRunning || !assignment || !sameKey(assignment, key)) return false;
    this.start = { kind: 'failed', temporary: false, message };
    return true;
  }

  update(container: Container): void {
    this.containers.set(container.id, container);
    const { assignment } = this;
    if (!assignment || !sameKey(container, assignment)) this.departing.add(container.generation);
    else if (container.state !== 'created' && this.start.kind !== 'failed') this.start = { kind: 'started' };
  }

  /** The departing generations whose containers are gone. */
  departed(): number[] {
    const present = new Set([...this.containers.values()].map(({ generation }) => generation));
    return [...this.departing].filter((generation) => !present.has(generation));
  }

  /**
   * Whether output of this key may still arrive. For an ended container it may until the store has all of it.
   */
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
  /** Services without a record at the control plane. Their containers are left alone (P30). */
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

  /** `generation`: whether that start of the service has a container here, or may soon have one. */
  isKnown(service: number, generation?: number): boolean {
    const tracked = this.#tracked.get(service);
    return tracked !== undefined && (generation === undefined || tracked.mayHold({ service, generation }));
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

  services(): number[] {
    return [...this.#tracked.keys()];
  }

  /** Removes all assignments except those with these keys. */
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

  /** Services with a container that the engine refuses to stop or remove, with its reason. */
  stuck(): { service: number; reason: string }[] {
    return this.all().flatMap(({ service, stuck }) => (stuck ? [{ service, reason: stuck.reason }] : []));
  }

  /** Running containers, except those of unknown services. */
  running(): Container[] {
    return this.all()
      .filter(({ service }) => !this.isUnknown(service))
      .flatMap(({ containers }) => [...containers.values()].filter(({ state }) => state === 'running'));
  }

  /** Gives up all known services; returns their keys. */
  lapse(): ServiceKey[] {
    return this.all().flatMap((tracked) => (this.isUnknown(tracked.service) ? [] : tracked.lapse()));
  }

  containers(): Container[] {
    return this.all().flatMap((tracked) => [...tracked.containers.values()]);
  }

  /** Images of all assignments. */
  images(): string[] {
    return this.all().flatMap(({ assignment }) => (assignment ? [assignment.image] : []));
  }

  withContainer(containerId: string): TrackedService | undefined {
    return this.all().find(({ containers }) => containers.has(containerId));
  }
}
