/**
 * Health checks of the running containers of this host: begins them, repeats them, and holds what they have
 * found. What is to be checked is in a label of the container, so that an agent that is started again goes
 * on. Never stops a container.
 */
import type { ContainerInspectInfo } from 'dockerode';
import { type Health, type HealthCheck, healthCheckSchema } from '../../../shared/protocol/health.ts';
import type { Container } from '../engine.ts';
import { label } from '../labels.ts';
import { Lane } from '../lane.ts';
import { type Finding, type Judgement, judge, pauseMs, unjudged } from './judge.ts';

/** What a check connects to, or runs in. */
export interface Target {
  id: string;
  /** Its address in its own network; empty if it has none. */
  address: string;
  /** Id of its image. */
  image: string;
}

export interface HealthChecksOptions {
  /** Makes one check. Must not reject. */
  run(check: HealthCheck, target: Target): Promise<Finding>;
  /** The check of this container is over. */
  forgotten(id: string): void;
  nowMs(): number;
}

/**
 * Checks at once. A command costs the engine more than the container, whose limits do not count it (P151), so
 * that a few at once must do.
 */
const WIDTHS = { network: 64, command: 4 };

interface Checked {
  readonly target: Target;
  readonly check: HealthCheck;
  readonly startedAtMs: number;
  judgement: Judgement;
  timer: NodeJS.Timeout | undefined;
}

export class HealthChecks {
  readonly #options: HealthChecksOptions;
  readonly #checked = new Map<string, Checked>();
  readonly #network = new Lane(WIDTHS.network);
  readonly #command = new Lane(WIDTHS.command);
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

  #begin(check: HealthCheck, target: Target, startedAtMs: number): Checked {
    const checked: Checked = { target, check, startedAtMs, judgement: unjudged, timer: undefined };
    this.#checked.set(target.id, checked);
    void this.#run(checked);
    return checked;
  }

  async #run(checked: Checked): Promise<void> {
    const { target, check, startedAtMs } = checked;
    const lane = check.kind === 'http' || check.kind === 'tcp' ? this.#network : this.#command;
    const isOver = () => this.#checked.get(target.id) !== checked;
    const finding = await lane.run(async () => (isOver() ? null : this.#options.run(check, target)));
    if (finding === null || isOver()) return;
    const ageMs = Math.max(0, this.#options.nowMs() - startedAtMs);
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

/** Undefined if the container is not checked. Its image may have a label of this name, with any text. */
function checkOf({ Config }: ContainerInspectInfo): HealthCheck | undefined {
  const text = Config.Labels[label.health];
  if (!text) return undefined;
  try {
    return healthCheckSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Hosts cannot reach the addresses of an overlay network, so that of the other network counts. */
function targetOf({ Id, Image, Config, NetworkSettings }: ContainerInspectInfo): Target {
  const overlay = Config.Labels[label.overlay];
  const networks = Object.entries(NetworkSettings.Networks).filter(([name]) => name !== overlay);
  const [address] = networks.flatMap(([, { IPAddress }]) => (IPAddress ? [IPAddress] : []));
  return { id: Id, address: address ?? '', image: Image };
}
