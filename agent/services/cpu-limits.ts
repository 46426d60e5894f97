/**
 * Owns the limits of cores of the containers on this host: what a new one starts with, and that those of the others
 * follow as services come and go (C81). Nothing waits for it, and its failures are no container's (C82).
 */
import type { Assignment } from '../../shared/protocol/assignment.ts';
import { type CpuClaim, claimOf, levelOf, limitOf } from '../engine/cpu-allocation.ts';
import type { Container, ContainerCpu, Engine } from '../engine/engine.ts';
import { type Logger, wordsOf } from '../logger.ts';
import type { TrackedService } from './service-registry.ts';

export interface CpuLimitsOptions {
  engine: Pick<Engine, 'limitCores'>;
  /** What there is on the host. */
  tracked(): readonly TrackedService[];
  /** What the host offers to services. */
  cores: number;
  log: Logger;
}

/** What comes and goes within this time is one change; by its end a service that caused it has mostly started. */
const SETTLE_MS = 500;
/** Limits that differ less are the same. */
const SAME = 0.005;

export class CpuLimits {
  readonly #options: CpuLimitsOptions;
  /** Limits set since the container was inspected, by what was read then. */
  readonly #set = new WeakMap<ContainerCpu, number>();
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #closed = false;

  constructor(options: CpuLimitsOptions) {
    this.#options = options;
  }

  /** The limit, in cores, of a container that is about to be created. */
  forNew(assignment: Assignment): number {
    return limitOf(claimOf(assignment), this.#level());
  }

  /** Services may have come or gone: limits follow soon. */
  changed(): void {
    this.#isDue = true;
    if (!this.#closed) this.#timer ??= setTimeout(() => void this.#follow(), SETTLE_MS);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #follow(): Promise<void> {
    this.#isDue = false;
    await this.#apply();
    this.#timer = undefined;
    if (this.#isDue) this.changed();
  }

  /** One after the other, so that starts never wait behind many. */
  async #apply(): Promise<void> {
    const level = this.#level();
    for (const { id, state, cores } of this.#options.tracked().flatMap(liveOf)) {
      if (this.#closed) return;
      if (state === 'running' && cores) await this.#limit(id, cores, limitOf(cores, level));
    }
  }

  async #limit(id: string, cores: ContainerCpu, limit: number): Promise<void> {
    if (Math.abs((this.#set.get(cores) ?? cores.limit) - limit) < SAME) return;
    const { engine, log } = this.#options;
    try {
      await engine.limitCores(id, limit);
      this.#set.set(cores, limit);
    } catch (error) {
      log('cpu-limit.update-failed', { container: id, cores: limit, reason: wordsOf(error) });
    }
  }

  #level(): number {
    return levelOf(this.#options.tracked().flatMap(claimsOf), this.#options.cores);
  }
}

const liveOf = ({ containers }: TrackedService): Container[] =>
  [...containers.values()].filter(({ state }) => state !== 'exited');

/** Those of its containers, or of the one that it is about to get; none while an image is pulled. */
function claimsOf(entry: TrackedService): CpuClaim[] {
  const live = liveOf(entry);
  if (live.length > 0) return live.flatMap(({ cores }) => cores ?? []);
  const { assignment, start } = entry;
  return assignment && start.kind === 'fresh' ? [claimOf(assignment)] : [];
}
