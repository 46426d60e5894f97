/**
 * CPU limits of this host's containers. A new container starts with its limit, and the limits of the others
 * change as services come and go (C81). No start or stop waits for a limit, and a failed update affects no
 * container (C82).
 */
import type { Assignment } from '../../shared/protocol/assignment.ts';
import { type CpuClaim, claimOf, levelOf, limitOf } from '../engine/cpu-allocation.ts';
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
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #closed = false;

  constructor(options: CpuLimitsOptions) {
    this.#options = options;
  }

  /** The CPU limit, in cores, of a container that is about to be created. */
  limitForNew(assignment: Assignment): number {
    return limitOf(claimOf(assignment), this.#level());
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
    const level = this.#level();
    for (const { id, state, cpu } of this.#options.tracked().flatMap(liveContainersOf)) {
      if (this.#closed) return;
      if (state === 'running' && cpu) await this.#limit(id, cpu, limitOf(cpu, level));
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

  #level(): number {
    return levelOf(this.#options.tracked().flatMap(claimsOf), this.#options.cores);
  }
}

const liveContainersOf = ({ containers }: TrackedService): Container[] =>
  [...containers.values()].filter(({ state }) => state !== 'exited');

/**
 * The claims of the service's live containers, or of the container that it is about to get. None while an
 * image is pulled.
 */
function claimsOf(service: TrackedService): CpuClaim[] {
  const live = liveContainersOf(service);
  if (live.length > 0) return live.flatMap(({ cpu }) => cpu ?? []);
  const { assignment, start } = service;
  return assignment && start.kind === 'fresh' ? [claimOf(assignment)] : [];
}
