/**
 * Owns the limits of cores of the containers on this host: what a new one starts with, and that those of the others
 * follow as services come and go (C81). Nothing waits for it, and its failures are no container's (C82).
 */
import type { Assignment } from '../../shared/protocol/assignment.ts';
import { type CoreClaim, claimOf, levelOf, limitOf } from '../engine/cpu-allocation.ts';
import type { Container, ContainerCores, Engine } from '../engine/engine.ts';
import { type Journal, wordsOf } from '../logger.ts';
import type { Entry } from './service-registry.ts';

export interface CoreLimitsOptions {
  engine: Pick<Engine, 'limitCores'>;
  /** What there is on the host. */
  entries(): readonly Entry[];
  /** What the host offers to services. */
  cores: number;
  journal: Journal;
}

/** What comes and goes within this time is one change; by its end a service that caused it has mostly started. */
const SETTLE_MS = 500;
/** Limits that differ less are the same. */
const SAME = 0.005;

export class CoreLimits {
  readonly #options: CoreLimitsOptions;
  /** Limits set since the container was inspected, by what was read then. */
  readonly #set = new WeakMap<ContainerCores, number>();
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #closed = false;

  constructor(options: CoreLimitsOptions) {
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
    for (const { id, state, cores } of this.#options.entries().flatMap(liveOf)) {
      if (this.#closed) return;
      if (state === 'running' && cores) await this.#limit(id, cores, limitOf(cores, level));
    }
  }

  async #limit(id: string, cores: ContainerCores, limit: number): Promise<void> {
    if (Math.abs((this.#set.get(cores) ?? cores.limit) - limit) < SAME) return;
    const { engine, journal } = this.#options;
    try {
      await engine.limitCores(id, limit);
      this.#set.set(cores, limit);
    } catch (error) {
      journal('cores.unchanged', { container: id, cores: limit, reason: wordsOf(error) });
    }
  }

  #level(): number {
    return levelOf(this.#options.entries().flatMap(claimsOf), this.#options.cores);
  }
}

const liveOf = ({ containers }: Entry): Container[] =>
  [...containers.values()].filter(({ state }) => state !== 'exited');

/** Those of its containers, or of the one that it is about to get; none while an image is pulled. */
function claimsOf(entry: Entry): CoreClaim[] {
  const live = liveOf(entry);
  if (live.length > 0) return live.flatMap(({ cores }) => cores ?? []);
  const { assignment, start } = entry;
  return assignment && start.kind === 'fresh' ? [claimOf(assignment)] : [];
}
