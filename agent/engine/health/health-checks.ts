/**
 * Health checks of the running containers of this host: begins them, repeats them, and holds what they have
 * found. What is to be checked is in a label of the container, so that an agent that is started again goes
 * on. Never stops a container.
 */
import type { ContainerInspectInfo } from 'dockerode';
import { FairQueue } from '../../../shared/fair-queue.ts';
import type { Health, HealthCheck } from '../../../shared/protocol/health.ts';
import type { Container } from '../engine.ts';
import { type Finding, type Judgement, judge, pauseMs, unjudged } from './judge.ts';
import { checkOf, type Target, targetOf } from './target.ts';

export interface HealthChecksOptions {
  /** Makes one check. Must not reject. */
  run(check: HealthCheck, target: Target): Promise<Finding>;
  /** The check of this container is over. */
  forgotten(id: string): void;
  /** The time that starts of containers have. */
  nowMs(): number;
  /** A clock that is never set. */
  uptimeMs(): number;
}

/**
 * Checks at once, and of one user. A command costs the engine more than the container, whose limits do not
 * count it (P151), so that a few at once must do.
 */
const LIMITS = { network: { total: 64, perOwner: 48 }, command: { total: 4, perOwner: 3 } };

interface Checked {
  target: Target;
  readonly check: HealthCheck;
  /** Tells starts of the same container apart. */
  readonly startedAtMs: number;
  /** The time of its start by the clock that is never set. */
  readonly bornMs: number;
  judgement: Judgement;
  timer: NodeJS.Timeout | undefined;
}

export class HealthChecks {
  readonly #options: HealthChecksOptions;
  readonly #checked = new Map<string, Checked>();
  readonly #network = new FairQueue(LIMITS.network);
  readonly #command = new FairQueue(LIMITS.command);
  #changed: (id: string) => void = () => {};

  constructor(options: HealthChecksOptions) {
    this.#options = options;
  }

  /** Calls `changed` with the id of each container whose health has changed. Replaces the last one. */
  onChange(changed: (id: string) => void): void {
    this.#changed = changed;
  }

  /** Adds its health to a running container, and checks it from now on. */
  withHealth(container: Container, info: ContainerInspectInfo): Container {
    const { id } = container;
    const check = container.state === 'running' ? checkOf(info) : undefined;
    if (container.state !== 'running' || !check) {
      this.forget(id);
      return container;
    }
    const known = this.#checked.get(id);
    // What an earlier start of the container has shown does not count, nor does its address.
    if (known && known.startedAtMs !== container.startedAtMs) this.forget(id);
    else if (known) known.target = { ...targetOf(info), commands: known.target.commands };
    const checked = this.#checked.get(id) ?? this.#begin(check, targetOf(info), container.startedAtMs);
    return { ...container, health: checked.judgement.health };
  }

  stateOf(id: string): Health['state'] | undefined {
    return this.#checked.get(id)?.judgement.health.state;
  }

  forget(id: string): void {
    const checked = this.#checked.get(id);
    if (!checked) return;
    clearTimeout(checked.timer);
    this.#checked.delete(id);
    this.#options.forgotten(id);
  }

  /**
   * Call it before all containers are listed, and the result with the ids of those that run: the others have
   * gone, perhaps while nobody watched, and are forgotten.
   */
  listing(): (running: ReadonlySet<string>) => void {
    const known = [...this.#checked.keys()];
    return (running) => {
      for (const id of known) if (!running.has(id)) this.forget(id);
    };
  }

  #begin(check: HealthCheck, target: Target, startedAtMs: number): Checked {
    const { nowMs, uptimeMs } = this.#options;
    const bornMs = uptimeMs() - Math.max(0, nowMs() - startedAtMs);
    const checked: Checked = { target, check, startedAtMs, bornMs, judgement: unjudged, timer: undefined };
    this.#checked.set(target.id, checked);
    void this.#run(checked);
    return checked;
  }

  async #run(checked: Checked): Promise<void> {
    const { target, check, bornMs } = checked;
    const lane = check.kind === 'http' || check.kind === 'tcp' ? this.#network : this.#command;
    const isOver = () => this.#checked.get(target.id) !== checked;
    const finding = await lane.run(
      async () => (isOver() ? null : this.#options.run(check, checked.target)),
      target.owner,
    );
    // The check may have left something behind after the container was forgotten.
    if (!this.#checked.has(target.id)) this.#options.forgotten(target.id);
    if (finding === null || isOver()) return;
    const ageMs = this.#options.uptimeMs() - bornMs;
    const { health: before } = checked.judgement;
    checked.judgement = judge(checked.judgement, finding, check, ageMs);
    const { health } = checked.judgement;
    // The agent runs on although nothing else may keep its process alive.
    checked.timer = setTimeout(() => void this.#run(checked), pauseMs(checked.judgement, check, ageMs));
    checked.timer.unref();
    if (health.state !== before.state || (health.state === 'starting' && health.detail !== before.detail))
      this.#changed(target.id);
  }
}
