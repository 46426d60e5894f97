/**
 * Owns the way from what is wanted to what runs: one code path for everything, view -> plan -> step -> engine. One step
 * at a time for each service, a bounded number of services at once. Never speaks to the control plane itself.
 */
import { type Assignment, type IdRange, keyOf, type ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Observation } from '../../shared/protocol/up.ts';
import { type Container, type ContainerSummary, EngineError } from '../engine/engine.ts';
import { wordsOf } from '../logger.ts';
import type { AgentOptions } from './agent-options.ts';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { CpuLimits } from './cpu-limits.ts';
import { removeLogs } from './log-removal.ts';
import { inventoryOf, lapsedOf, observeService, planService, sameKey, withLapsed } from './plan.ts';
import { ServiceRegistry, type TrackedService } from './service-registry.ts';
import { type Effect, execute, type Step, type StepKind } from './steps.ts';

export class Agent {
  readonly #options: AgentOptions;
  readonly #registry = new ServiceRegistry();
  readonly #coreLimits: CpuLimits;
  readonly #lanes = new ConcurrencyLimits();
  /** Until the first complete sync nothing is known to be unwanted. */
  #synced = false;
  #closed = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { engine, cores, log } = options;
    this.#coreLimits = new CpuLimits({ engine, cores, log, tracked: () => this.#registry.all() });
  }

  /** Takes in the whole truth: what is not in it must not run, but for what is `unknown` to the control plane. */
  sync(assignments: readonly Assignment[], unknown: readonly IdRange[] = []): void {
    this.#synced = true;
    this.#registry.unknown = unknown;
    const wanted = new Set(assignments.map(keyOf));
    this.#options.output.retainMarks(wanted, (service) => this.#registry.isUnknown(service));
    this.#registry.dismissAllBut(wanted);
    for (const assignment of assignments) this.#accept(assignment);
    for (const entry of this.#registry.all()) this.#advance(entry);
    this.#options.leftAlone(this.#registry.leftAlone());
  }

  start(assignment: Assignment): void {
    this.#accept(assignment);
    this.#advance(this.#registry.entry(assignment.service));
  }

  stop(key: ServiceKey): void {
    const entry = this.#registry.entry(key.service);
    entry.dismiss(key);
    this.#advance(entry);
  }

  /** The control plane knows that the key is gone: it never asks for it again (P60). */
  conclude(key: ServiceKey): void {
    const entry = this.#registry.get(key.service);
    // Of what was given up (P33) only its marks may be left.
    if (!entry || entry.conclude(key)) this.#options.output.unmark(key);
    if (entry) this.#advance(entry);
  }

  /** Removes their logs; of those that still have something here, which may write, once that is gone. */
  forget(services: readonly number[]): void {
    for (const service of services) {
      const entry = this.#registry.get(service);
      if (entry) entry.isForgotten = true;
      else removeLogs(service, this.#options);
    }
  }

  inventory(): Observation[] {
    const { output } = this.#options;
    const seen = this.#registry.all().flatMap((entry) => inventoryOf(entry.view((id) => output.stateOf(id))));
    return withLapsed(seen, output.lapsedKeys());
  }

  /** Stops all that it was told to run, by itself: there was no contact for the lease (P32). */
  lapse(unknown: readonly IdRange[]): void {
    if (!this.#synced) this.#registry.unknown = unknown;
    const keys = this.#registry.lapse();
    for (const key of keys) this.#options.output.markLapsed(key);
    this.#options.log('lease.expired', { services: keys.map(({ service }) => service).join(' ') });
    for (const { service } of keys) this.#advance(this.#registry.entry(service));
  }

  /** The highest ids that are in use on this host, by containers and stored logs (P31). */
  highestIds(): { execution: number; service: number } {
    return this.#registry.highestIds(this.#options.output.highestService());
  }

  /** Nothing is wanted here, and nothing is there. */
  get isIdle(): boolean {
    return this.#synced && this.#registry.all().length === 0;
  }

  isKnown(service: number): boolean {
    return this.#registry.get(service) !== undefined;
  }

  /** Whether output of this key may still come. */
  mayWrite(key: ServiceKey): boolean {
    const { output } = this.#options;
    const mayStill = this.#registry.get(key.service)?.mayWrite(key, (id) => output.stateOf(id)) ?? false;
    return !this.#synced || output.isGrowing(key) || mayStill;
  }

  /** A container may have changed. */
  changed(containerId: string): void {
    const entry = this.#registry.holderOf(containerId);
    if (!entry) return;
    entry.stale.add(containerId);
    this.#advance(entry);
  }

  /** Looks at all containers again, and counts what events and steps had not told. Throws EngineError. */
  async refresh(): Promise<void> {
    const since = this.#registry.clock;
    const listed = await this.#options.engine.list();
    const found = new Map<number, Map<string, Container>>();
    await Promise.all(
      listed.map(async (summary) => {
        const container = await this.#lookAt(summary);
        if (!container) return;
        const ofService = found.get(container.service) ?? new Map<string, Container>();
        found.set(container.service, ofService.set(container.id, container));
      }),
    );
    let corrections = 0;
    for (const service of new Set([...found.keys(), ...this.#registry.all().map((entry) => entry.service)])) {
      const entry = this.#registry.entry(service);
      entry.blocked = false;
      if (!entry.work && entry.touched <= since) corrections += this.#correct(entry, found.get(service));
      this.#advance(entry);
    }
    if (corrections > 0) this.#options.log('engine.corrected', { containers: corrections });
    this.#options.leftAlone(this.#registry.leftAlone());
  }

  /** Begins no further step; those under way may end. */
  close(): void {
    this.#closed = true;
    this.#coreLimits.close();
    for (const { work } of this.#registry.all()) if (work?.kind === 'pull') work.abort.abort();
  }

  #accept(assignment: Assignment): void {
    const entry = this.#registry.entry(assignment.service);
    const { output, reporter } = this.#options;
    if ((entry.assignment?.generation ?? 0) >= assignment.generation || reporter.isGone(assignment)) return;
    if (output.isLapsed(assignment)) {
      if (!entry.has(assignment) && !entry.work) reporter.observe(lapsedOf(assignment));
      return;
    }
    const started = output.wasStarted(assignment);
    if (!started && !entry.has(assignment)) output.clear(assignment);
    entry.assign(assignment, { kind: started ? 'started' : 'fresh' });
  }

  /** What is listed in a state already known needs no inspection. */
  async #lookAt({ id, service, state }: ContainerSummary): Promise<Container | undefined> {
    const known = this.#registry.get(service)?.containers.get(id);
    if (known?.state === state) return known;
    return await this.#lanes.of('look').run(() => this.#options.engine.inspect(id));
  }

  #correct(entry: TrackedService, found: ReadonlyMap<string, Container> | undefined): number {
    let corrections = 0;
    for (const id of [...entry.containers.keys()]) {
      if (found?.has(id)) continue;
      this.#vanished(entry, id);
      corrections += 1;
    }
    for (const container of found?.values() ?? []) {
      if (entry.containers.get(container.id) === container) continue;
      entry.see(container);
      corrections += 1;
    }
    return corrections;
  }

  #advance(entry: TrackedService): void {
    this.#coreLimits.changed();
    if (entry.work) {
      // Nobody waits for the image any more.
      if (entry.work.kind === 'pull' && !entry.assignment) entry.work.abort.abort();
      return;
    }
    if (this.#closed || !(this.#synced || entry.lapsed) || this.#registry.isUnknown(entry.service)) return;
    const { output } = this.#options;
    if (entry.stale.size > 0) {
      this.#look(entry);
      return;
    }
    this.#tell(entry);
    const step = entry.blocked ? undefined : planService(entry.view((id) => output.stateOf(id)));
    if (step) this.#perform(entry, step);
    else if (entry.isEmpty()) this.#drop(entry);
  }

  #drop(entry: TrackedService): void {
    this.#registry.drop(entry);
    if (entry.isForgotten) removeLogs(entry.service, this.#options);
  }

  #tell(entry: TrackedService): void {
    const { reporter, output } = this.#options;
    const observation = observeService(entry.view((id) => output.stateOf(id)));
    if (observation) reporter.observe(observation);
    for (const generation of entry.departed()) {
      const key = { service: entry.service, generation };
      entry.leaving.delete(generation);
      // Its marks stay until that is acknowledged: before, it may be asked for again.
      reporter.observe(output.isLapsed(key) ? lapsedOf(key) : { ...key, state: 'gone' });
    }
  }

  #look(entry: TrackedService): void {
    const ids = [...entry.stale];
    entry.stale.clear();
    this.#work(entry, 'look', async () => {
      for (const id of ids) {
        const container = await this.#options.engine.inspect(id);
        if (container) entry.see(container);
        else this.#vanished(entry, id);
      }
    });
  }

  #perform(entry: TrackedService, step: Step): void {
    const { engine, output, reporter, lowDisk } = this.#options;
    const coreLimit = (assignment: Assignment) => this.#coreLimits.forNew(assignment);
    this.#work(entry, step.kind, async (signal) => {
      const progress = (detail: string) => {
        entry.detail = detail;
        const { assignment } = entry;
        if (!assignment) return;
        const { service, generation } = assignment;
        reporter.observe({ service, generation, state: 'preparing', detail });
      };
      try {
        this.#apply(entry, await execute(step, { engine, output, coreLimit, progress, lowDisk, signal }));
      } catch (error) {
        if (!signal.aborted) this.#failed(entry, step, error);
      }
    });
  }

  #apply(entry: TrackedService, { container, replaces, imagePulled }: Effect): void {
    if (replaces !== undefined && replaces !== container?.id) this.#vanished(entry, replaces);
    if (container) entry.see(container);
    if (imagePulled) {
      entry.pulled = true;
      entry.start = { kind: 'fresh' };
    }
  }

  /** A start that failed is over; anything else is tried again when the engine has been looked at anew. */
  #failed(entry: TrackedService, step: Step, error: unknown): void {
    const kind = error instanceof EngineError ? error.kind : 'temporary';
    const message = wordsOf(error);
    this.#options.log('step.failed', { step: step.kind, service: entry.service, kind, reason: message });
    const starts = step.kind === 'create' || step.kind === 'start' || step.kind === 'pull';
    if (!starts || kind === 'unreachable') {
      entry.blocked = true;
      this.#options.onTrouble();
      return;
    }
    if (!entry.assignment || !sameKey(entry.assignment, step.assignment)) return;
    if (kind === 'image-missing' && !entry.pulled) entry.start = { kind: 'image-missing' };
    else entry.start = { kind: 'failed', temporary: kind === 'temporary', message };
  }

  #vanished(entry: TrackedService, id: string): void {
    const container = entry.containers.get(id);
    entry.containers.delete(id);
    if (container) void this.#options.output.release(container);
  }

  /** Runs one piece of work for a service, then decides anew. */
  #work(entry: TrackedService, kind: StepKind | 'look', work: (signal: AbortSignal) => Promise<void>): void {
    const abort = new AbortController();
    entry.work = { kind, abort };
    this.#registry.touch(entry);
    const lane = this.#lanes.of(kind);
    const done = () => {
      entry.work = undefined;
      this.#registry.touch(entry);
      this.#advance(entry);
    };
    lane
      .run(() => work(abort.signal))
      .catch((error: unknown) => {
        this.#options.log('work.failed', { work: kind, service: entry.service, reason: wordsOf(error) });
        entry.blocked = true;
        this.#options.onTrouble();
      })
      .then(done);
  }
}
