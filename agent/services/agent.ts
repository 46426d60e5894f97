/**
 * The agent's core: brings the containers in line with the assignments, by one code path: view -> plan ->
 * step -> engine. Each service runs one step at a time. Never communicates with the control plane itself.
 */
import { type Assignment, type IdRange, keyOf, type ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Observation, Up } from '../../shared/protocol/up.ts';
import { type Container, type ContainerSummary, type Engine, EngineError } from '../engine/engine.ts';
import type { SecretSource } from '../engine/folders/start-secrets.ts';
import type { FetchCredentials } from '../engine/pulls/pull-credentials.ts';
import { type Logger, messageOf } from '../logger.ts';
import type { OutputStore } from '../logs/output-store.ts';
import { highestProofs, type StoredIds } from '../logs/stored-ids.ts';
import { ConcurrencyLimits, type WorkKind } from './concurrency-limits.ts';
import { CpuLimits } from './cpu-limits.ts';
import { inventoryOf, lapsedOf, observeService, planService, sameKey, withLapsed } from './plan.ts';
import type { Reporter } from './reporter.ts';
import { ServiceRegistry, type Stuck, type TrackedService } from './service-registry.ts';
import { type Effect, execute, type Step } from './steps.ts';

/** What an agent requires of the parts around it. */
interface AgentOptions extends SecretSource {
  engine: Engine;
  output: OutputStore;
  reporter: Reporter;
  fetchCredentials: FetchCredentials;
  log: Logger;
  /** Cores that the host offers to services. */
  cores: number;
  /** Why the host counts as low on disk; then no image is pulled. Undefined if it is not. */
  lowDisk(): string | undefined;
  /**
   * Called after each look at all containers, with the services that the control plane does not know and that
   * have containers here.
   */
  leftAlone(services: readonly number[]): void;
  /** Called with all services of which the engine refuses to stop or remove a container, at each change. */
  stuck?(services: readonly { service: number; reason: string }[]): void;
  /** A stop or a removal that takes longer is one that hangs. Default: 45 s. */
  hangsMs?: number;
  /** The engine failed at a step that will be retried after the next refresh. */
  onEngineFailure(): void;
}

/** Pauses after a refused stop or removal. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** A stop or a removal that takes longer hangs: well beyond the grace period of a stop. */
const HANGS_MS = 45_000;

export class Agent {
  readonly #options: AgentOptions;
  readonly #registry = new ServiceRegistry();
  readonly cpuLimits: CpuLimits;
  readonly #concurrencyLimits = new ConcurrencyLimits();
  readonly #outputState = (containerId: string) => this.#options.output.stateOf(containerId);
  /** Before the first complete sync no container counts as unwanted. */
  #synced = false;
  #closed = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { engine, cores, log } = options;
    this.cpuLimits = new CpuLimits({ engine, cores, log, tracked: () => this.#registry.all() });
  }

  /** Applies all assignments. Other containers are removed, except those of `unknown` services (P30). */
  sync(assignments: readonly Assignment[], unknown: readonly IdRange[] = []): void {
    this.#synced = true;
    this.#registry.unknown = unknown;
    const wanted = new Set(assignments.map(keyOf));
    this.#options.output.retainMarks(wanted, (service) => this.#registry.isUnknown(service));
    this.#registry.unassignAllExcept(wanted);
    for (const assignment of assignments) this.#accept(assignment);
    for (const tracked of this.#registry.all()) this.#advance(tracked);
    this.#options.leftAlone(this.#registry.leftAlone());
  }

  start(assignment: Assignment): void {
    this.#accept(assignment);
    this.#advance(this.#registry.getOrCreate(assignment.service));
  }

  stop(key: ServiceKey): void {
    const tracked = this.#registry.getOrCreate(key.service);
    tracked.unassign(key);
    this.#advance(tracked);
  }

  /** The control plane has acknowledged that the key is gone, and never requests it again (P60). */
  conclude(key: ServiceKey): void {
    const tracked = this.#registry.get(key.service);
    // A key that was given up (P33) may have left only its marks.
    if (!tracked || tracked.conclude(key)) this.#options.output.unmark(key);
    if (tracked) this.#advance(tracked);
  }

  /** Removes the services' logs. Those of a service with containers, which may write, go after them. */
  forget(services: readonly number[]): void {
    for (const service of services) {
      const tracked = this.#registry.get(service);
      if (tracked) tracked.isForgotten = true;
      else removeLogs(service, this.#options);
    }
  }

  inventory(): Observation[] {
    const seen = this.#registry.all().flatMap((tracked) => inventoryOf(tracked.view(this.#outputState)));
    return withLapsed(seen, this.#options.output.lapsedKeys());
  }

  /** Gives up every assignment, because the lease has expired without contact (P32). */
  lapse(unknown: readonly IdRange[]): void {
    if (!this.#synced) this.#registry.unknown = unknown;
    const keys = this.#registry.lapse();
    for (const key of keys) this.#options.output.markLapsed(key);
    this.#options.log('lease.expired', { services: keys.map(({ service }) => service).join(' ') });
    for (const { service } of keys) this.#advance(this.#registry.getOrCreate(service));
  }

  /** Ends a running service for good: its start counts as failed, for this reason (P145). */
  end(key: ServiceKey, reason: string): void {
    const tracked = this.#registry.get(key.service);
    if (tracked?.fail(key, reason)) this.#advance(tracked);
  }

  /** Running containers, except those that are left alone (P30). None before the first sync. */
  running(): Container[] {
    return this.#synced ? this.#registry.running() : [];
  }

  /** Images of all assignments. Undefined before the first sync. */
  images(): string[] | undefined {
    return this.#synced ? this.#registry.images() : undefined;
  }

  /** The highest ids on this host, with their proofs (P31, P144). */
  seenIds(): SeenIds {
    return seenIds(this.#registry.containers(), this.#options.output.seenIds);
  }

  /** True if nothing is assigned here and no container is left. */
  get isIdle(): boolean {
    return this.#synced && this.#registry.all().length === 0;
  }

  hasContainer(containerId: string): boolean {
    return this.#registry.withContainer(containerId) !== undefined;
  }

  isKnown(service: number, generation?: number): boolean {
    return this.#registry.isKnown(service, generation);
  }

  /** Whether output of this key may still arrive. */
  mayWrite(key: ServiceKey): boolean {
    const mayStill = this.#registry.get(key.service)?.mayWrite(key, this.#outputState) ?? false;
    return !this.#synced || this.#options.output.isGrowing(key) || mayStill;
  }

  containerChanged(containerId: string): void {
    const tracked = this.#registry.withContainer(containerId);
    if (!tracked) return;
    tracked.stale.add(containerId);
    this.#advance(tracked);
  }

  /** Inspects all containers again, and logs how many events and steps had missed. Throws EngineError. */
  async refresh(): Promise<void> {
    const since = this.#registry.clock;
    const found = await findContainers(this.#options.engine, this.#registry, this.#concurrencyLimits);
    let corrections = 0;
    for (const service of new Set([...found.keys(), ...this.#registry.services()])) {
      const tracked = this.#registry.getOrCreate(service);
      tracked.blocked = false;
      if (!tracked.work && tracked.touched <= since)
        corrections += this.#correct(tracked, found.get(service));
      this.#advance(tracked);
    }
    if (corrections > 0) this.#options.log('engine.corrected', { containers: corrections });
    this.#options.leftAlone(this.#registry.leftAlone());
  }

  /** Begins no further step. Steps in progress may end. */
  close(): void {
    this.#closed = true;
    this.cpuLimits.close();
    for (const { work } of this.#registry.all()) if (work?.kind === 'pull') work.abort.abort();
  }

  #accept(assignment: Assignment): void {
    const tracked = this.#registry.getOrCreate(assignment.service);
    const { output, reporter } = this.#options;
    if ((tracked.assignment?.generation ?? 0) >= assignment.generation || reporter.isGone(assignment)) return;
    if (output.isLapsed(assignment)) {
      if (!tracked.has(assignment) && !tracked.work) reporter.observe(lapsedOf(assignment));
      return;
    }
    const started = output.accept(assignment, tracked.has(assignment));
    tracked.assign(assignment, { kind: started ? 'started' : 'fresh' });
  }

  #correct(tracked: TrackedService, found: ReadonlyMap<string, Container> | undefined): number {
    let corrections = 0;
    for (const id of [...tracked.containers.keys()]) {
      if (found?.has(id)) continue;
      this.#containerGone(tracked, id);
      corrections += 1;
    }
    for (const container of found?.values() ?? []) {
      if (tracked.containers.get(container.id) === container) continue;
      tracked.update(container);
      corrections += 1;
    }
    return corrections;
  }

  #advance(tracked: TrackedService): void {
    this.cpuLimits.scheduleUpdate();
    // No service waits for the image any longer.
    if (tracked.work?.kind === 'pull' && !tracked.assignment) tracked.work.abort.abort();
    if (tracked.work || this.#closed) return;
    // Before the first sync, too: a container that has ended is not given up (P33).
    if (tracked.stale.size > 0) {
      this.#inspectStale(tracked);
      return;
    }
    if (!(this.#synced || tracked.lapsed) || this.#registry.isUnknown(tracked.service)) return;
    this.#report(tracked);
    const waits = tracked.blocked || tracked.stuck?.isPaused === true;
    const step = waits ? undefined : planService(tracked.view(this.#outputState));
    if (step) this.#perform(tracked, step);
    else if (tracked.isEmpty()) this.#drop(tracked);
  }

  #drop(tracked: TrackedService): void {
    this.#registry.drop(tracked);
    this.#setStuck(tracked, undefined);
    if (tracked.isForgotten) removeLogs(tracked.service, this.#options);
  }

  #report(tracked: TrackedService): void {
    const { reporter, output } = this.#options;
    const observation = observeService(tracked.view(this.#outputState));
    if (observation) reporter.observe(observation);
    for (const generation of tracked.departed()) {
      const key = { service: tracked.service, generation };
      tracked.departing.delete(generation);
      // The marks stay until `gone` is acknowledged: until then the control plane may request the key.
      reporter.observe(output.isLapsed(key) ? lapsedOf(key) : { ...key, state: 'gone' });
    }
  }

  #inspectStale(tracked: TrackedService): void {
    const ids = [...tracked.stale];
    tracked.stale.clear();
    this.#run(tracked, 'inspect', async () => {
      for (const id of ids) {
        const container = await this.#options.engine.inspect(id);
        if (container) tracked.update(container);
        else this.#containerGone(tracked, id);
      }
    });
  }

  #perform(tracked: TrackedService, step: Step): void {
    const { reporter } = this.#options;
    const cpuLimit = (assignment: Assignment) => this.cpuLimits.limitForNew(assignment);
    this.#run(tracked, step.kind, async (signal) => {
      const progress = (detail: string) => {
        tracked.detail = detail;
        const { service, assignment } = tracked;
        if (!assignment) return;
        reporter.observe({ service, generation: assignment.generation, state: 'preparing', detail });
      };
      const watch = setTimeout(() => this.#hangs(tracked, step), this.#options.hangsMs ?? HANGS_MS);
      watch.unref();
      try {
        this.#apply(tracked, await execute(step, { ...this.#options, cpuLimit, progress, signal }));
        this.#setStuck(tracked, undefined);
      } catch (error) {
        if (!signal.aborted) this.#stepFailed(tracked, step, error);
      } finally {
        clearTimeout(watch);
      }
    });
  }

  #apply(tracked: TrackedService, { container, replaces, imagePulled }: Effect): void {
    if (replaces !== undefined && replaces !== container?.id) this.#containerGone(tracked, replaces);
    if (container) tracked.update(container);
    if (imagePulled) {
      tracked.pulled = true;
      tracked.start = { kind: 'fresh' };
    }
  }

  /** A failed start is final. Any other step is retried after the next refresh. */
  #stepFailed(tracked: TrackedService, step: Step, error: unknown): void {
    const kind = error instanceof EngineError ? error.kind : 'temporary';
    const message = messageOf(error);
    const isKnown = tracked.stuck?.reason === message;
    if (!isKnown)
      this.#options.log('step.failed', { step: step.kind, service: tracked.service, kind, reason: message });
    if (kind === 'unreachable' || step.kind === 'preserve-output') {
      tracked.blocked = true;
      this.#options.onEngineFailure();
      return;
    }
    if (step.kind === 'stop' || step.kind === 'remove') {
      this.#refused(tracked, step, message);
      return;
    }
    if (!tracked.assignment || !sameKey(tracked.assignment, step.assignment)) return;
    if (kind === 'image-missing' && !tracked.pulled) tracked.start = { kind: 'image-missing' };
    else tracked.start = { kind: 'failed', temporary: kind === 'temporary', message };
  }

  /** The engine refuses to stop or remove a container: tries again, ever later. */
  #refused(tracked: TrackedService, step: Extract<Step, { container: Container }>, reason: string): void {
    const attempts = (tracked.stuck?.attempts ?? 0) + 1;
    const stuck = { reason, attempts, isPaused: true };
    this.#noteStuck(tracked, step, stuck, 'refuses');
    setTimeout(() => {
      stuck.isPaused = false;
      this.#advance(tracked);
    }, pauseMs(attempts)).unref();
  }

  /** The engine has not answered for so long that a person should know. The call goes on. */
  #hangs(tracked: TrackedService, step: Step): void {
    if (step.kind !== 'stop' && step.kind !== 'remove') return;
    const reason = 'no answer yet, as while a disk or a process of the container hangs';
    const { service } = tracked;
    if (tracked.stuck?.reason !== reason) this.#options.log('step.hangs', { step: step.kind, service });
    const stuck = { reason, attempts: tracked.stuck?.attempts ?? 0, isPaused: false };
    this.#noteStuck(tracked, step, stuck, 'was requested');
  }

  #noteStuck(
    tracked: TrackedService,
    { kind, container: { service, generation } }: Extract<Step, { container: Container }>,
    stuck: Stuck,
    did: string,
  ): void {
    this.#setStuck(tracked, stuck);
    // The end of an assigned key is itself to be reported.
    if (tracked.assignment?.generation === generation) return;
    const detail = `the engine ${did} to ${kind} its container: ${stuck.reason}`;
    this.#options.reporter.observe({ service, generation, state: 'preparing', detail });
  }

  #setStuck(tracked: TrackedService, stuck: TrackedService['stuck']): void {
    if (tracked.stuck === stuck) return;
    tracked.stuck = stuck;
    this.#options.stuck?.(this.#registry.stuck());
  }

  #containerGone(tracked: TrackedService, id: string): void {
    const container = tracked.containers.get(id);
    tracked.containers.delete(id);
    if (container) void this.#options.output.release(container);
  }

  /** Runs one piece of work for a service, then plans the service anew. */
  #run(tracked: TrackedService, kind: WorkKind, work: (signal: AbortSignal) => Promise<void>): void {
    const abort = new AbortController();
    tracked.work = { kind, abort };
    this.#registry.touch(tracked);
    const lane = this.#concurrencyLimits.laneFor(kind);
    lane
      .run(() => work(abort.signal))
      .catch((error: unknown) => {
        this.#options.log('work.failed', { work: kind, service: tracked.service, reason: messageOf(error) });
        tracked.blocked = true;
        this.#options.onEngineFailure();
      })
      .then(() => {
        tracked.work = undefined;
        this.#registry.touch(tracked);
        this.#advance(tracked);
      });
  }
}

/** The pause after so many attempts. */
export const pauseMs = (attempts: number): number =>
  Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 16));

/**
 * Finds all containers of this host on its engine, for a comparison with what the registry has. Returns those
 * of each service by their ids. Throws EngineError.
 */
async function findContainers(
  engine: Pick<Engine, 'list' | 'inspect'>,
  registry: ServiceRegistry,
  limits: ConcurrencyLimits,
): Promise<Map<number, Map<string, Container>>> {
  const lane = limits.laneFor('inspect');
  // A container listed in its known state needs no inspection.
  const inspectListed = async (listed: ContainerSummary): Promise<Container | undefined> => {
    const known = registry.get(listed.service)?.containers.get(listed.id);
    return known && isSame(known, listed) ? known : await lane.run(() => engine.inspect(listed.id));
  };
  const found = new Map<number, Map<string, Container>>();
  for (const container of await Promise.all((await engine.list()).map(inspectListed))) {
    if (!container) continue;
    const ofService = found.get(container.service) ?? new Map<string, Container>();
    found.set(container.service, ofService.set(container.id, container));
  }
  return found;
}

const isSame = (known: Container, { state, paused, health }: ContainerSummary): boolean =>
  known.state === state &&
  (known.state !== 'running' || (known.health?.state === health && known.paused === paused));

/**
 * Removes the logs of a service at the control plane's request, and reports their removal (P14). If the
 * removal fails, the control plane repeats its request after the next hello.
 */
function removeLogs(
  service: number,
  { output, reporter, log }: Pick<AgentOptions, 'output' | 'reporter' | 'log'>,
): void {
  output.forget(service).then(
    () => reporter.forgot([service]),
    (error: unknown) => log('logs.removal-failed', { service, reason: messageOf(error) }),
  );
}

type Hello = Extract<Up, { type: 'hello' }>;
type SeenIds = Required<Pick<Hello, 'highest' | 'idProofs'>>;

/**
 * The highest ids that a host has seen, and their proofs, for `hello` (P31, P144). 0: the host has seen no
 * id.
 */
export function seenIds(
  containers: readonly Pick<Container, 'service' | 'execution' | 'idProof'>[],
  stored: Pick<StoredIds, 'highestService' | 'proven'>,
): SeenIds {
  const proven = [
    ...stored.proven,
    ...containers.flatMap(({ service, execution, idProof: proof }) =>
      execution === undefined || proof === undefined ? [] : [{ service, execution, proof }],
    ),
  ];
  const highest = (ids: readonly (number | undefined)[]) =>
    ids.reduce<number>((max, id) => Math.max(max, id ?? 0), 0);
  return {
    highest: {
      execution: highest([...containers, ...proven].map(({ execution }) => execution)),
      service: highest([stored.highestService, ...containers.map(({ service }) => service)]),
    },
    idProofs: highestProofs(proven),
  };
}
