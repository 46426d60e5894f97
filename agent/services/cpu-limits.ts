/**
 * CPU limits of this host's containers. A new container starts with its limit, and the limits of the others
 * change as services come and go (C81). No start or stop waits for a limit, and a failed update affects no
 * container (C82).
 */
import type { Assignment } from '../../shared/protocol/assignment.ts';
import type { CoreShare } from '../../shared/protocol/down.ts';
import { type CpuClaim, claimOf, levelsOf, limitOf } from '../engine/cpu-allocation.ts';
import type { Container, ContainerCpu, Engine } from '../engine/engine.ts';
import { type Logger, messageOf } from '../logger.ts';
import type { TrackedService } from './service-registry.ts';

export interface CpuLimitsOptions {
  engine: Pick<Engine, 'updateCpuLimit'>;
  /** All services on the host. */
  tracked(): readonly TrackedService[];
  /** Cores that the host offers to services. */
  cores: number;
  log: Logger;
}

/** Changes within this time count as one. A service that caused a change has usually started by its end. */
const SETTLE_MS = 500;
/** Limits that differ by less than this are equal. */
const TOLERANCE = 0.005;

export class CpuLimits {
  readonly #options: CpuLimitsOptions;
  /** Limits applied since the last inspection, keyed by the inspected value. */
  readonly #applied = new WeakMap<ContainerCpu, number>();
  /** By execution. */
  #shares: ReadonlyMap<number, CoreShare> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #closed = false;

  constructor(options: CpuLimitsOptions) {
    this.#options = options;
  }

  /** The CPU limit, in cores, of a container that is about to be created. */
  limitForNew(assignment: Assignment): number {
    const share = this.#shares.get(assignment.execution);
    return limitOf(claimOf(assignment), this.#levels()(share));
  }

  /** Takes the shares of users (P150). */
  share(shares: readonly CoreShare[]): void {
    this.#shares = new Map(
      shares.flatMap((share) => share.executions.map((execution) => [execution, share] as const)),
    );
    this.scheduleUpdate();
  }

  /** Services may have come or gone. Updates the limits soon. */
  scheduleUpdate(): void {
    this.#isDue = true;
    if (!this.#closed) this.#timer ??= setTimeout(() => void this.#applySoon(), SETTLE_MS);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #applySoon(): Promise<void> {
    this.#isDue = false;
    await this.#update();
    this.#timer = undefined;
    if (this.#isDue) this.scheduleUpdate();
  }

  /** Updates one container after the other, so that starts never wait behind many updates. */
  async #update(): Promise<void> {
    const levelFor = this.#levels();
    for (const { id, state, cpu, execution = 0 } of this.#options.tracked().flatMap(liveContainersOf)) {
      if (this.#closed) return;
      if (state === 'running' && cpu)
        await this.#limit(id, cpu, limitOf(cpu, levelFor(this.#shares.get(execution))));
    }
  }

  async #limit(id: string, cpu: ContainerCpu, limit: number): Promise<void> {
    if (Math.abs((this.#applied.get(cpu) ?? cpu.limit) - limit) < TOLERANCE) return;
    const { engine, log } = this.#options;
    try {
      await engine.updateCpuLimit(id, limit);
      this.#applied.set(cpu, limit);
    } catch (error) {
      log('cpu-limit.update-failed', { container: id, cores: limit, reason: messageOf(error) });
    }
  }

  #levels() {
    const claims = this.#options
      .tracked()
      .flatMap(claimsOf)
      .map(({ claim, execution }) => ({ claim, share: this.#shares.get(execution) }));
    return levelsOf(claims, this.#options.cores);
  }
}

const liveContainersOf = ({ containers }: TrackedService): Container[] =>
  [...containers.values()].filter(({ state }) => state !== 'exited');

/**
 * The claims of the service's live containers, or of the container that it is about to get. None while an
 * image is pulled.
 */
function claimsOf(service: TrackedService): { claim: CpuClaim; execution: number }[] {
  const live = liveContainersOf(service);
  if (live.length > 0)
    return live.flatMap(({ cpu, execution = 0 }) => (cpu ? { claim: cpu, execution } : []));
  const { assignment, start } = service;
  return assignment && start.kind === 'fresh'
    ? [{ claim: claimOf(assignment), execution: assignment.execution }]
    : [];
}
