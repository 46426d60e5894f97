/**
 * Container check: each start has at most one container, two starts of a service never run at once, and after
 * settling the containers are exactly those of the rows.
 */
import { healthOf, type SimContainer } from '../machine/container.ts';
import type { EngineEvents, SimEngine } from '../machine/engine.ts';
import type { World } from '../world/time.ts';
import { Check } from './check.ts';
import { isLive, type Ledger } from './ledger.ts';

/** A start that an engine carried out. */
export interface Start {
  container: SimContainer;
  machine: string;
}

export class ContainerCheck extends Check implements EngineEvents {
  /** Every container that ever ran, by `service.generation`. */
  readonly started = new Map<string, Start>();
  engines: readonly SimEngine[] = [];
  /** True if the documents allow this container to run beside a later start. */
  readonly #mayRunTwice: (machine: string, container: SimContainer) => boolean;
  /** True if two agents may act on the machine. Neither has the marks of the other (P90). */
  readonly #hasTwoAgents: (machine: string) => boolean;

  constructor(
    world: World,
    ledger: Ledger,
    mayRunTwice: (machine: string, container: SimContainer) => boolean,
    hasTwoAgents: (machine: string) => boolean,
  ) {
    super(world, ledger);
    this.#mayRunTwice = mayRunTwice;
    this.#hasTwoAgents = hasTwoAgents;
  }

  starts(engine: SimEngine, container: SimContainer): void {
    const { key } = container;
    if (!key) return;
    const name = `${key.service}.${key.generation}`;
    this.world.note(`${engine.machine} starts ${container.id} of ${name}`);
    const earlier = this.started.get(name);
    if (earlier && this.#hasTwoAgents(engine.machine))
      this.world.count('container: starts twice as documented');
    else if (earlier)
      this.violate(
        `${name} is started as ${container.id}, but was started as ${earlier.container.id} before`,
      );
    this.started.set(name, { container, machine: engine.machine });
    for (const other of this.#running())
      if (other !== container && other.key?.service === key.service) this.#overlap(container, other);
  }

  /** Two starts of a service run at once. */
  #overlap(one: SimContainer, other: SimContainer): void {
    const [older, newer] =
      Number(one.key?.generation) < Number(other.key?.generation) ? [one, other] : [other, one];
    const machine = this.started.get(`${older.key?.service}.${older.key?.generation}`)?.machine ?? '';
    if (this.#mayRunTwice(machine, older)) this.world.count('container: runs twice as documented');
    else this.violate(`service ${older.key?.service} runs as ${older.id} and as ${newer.id} at once`);
  }

  foreignCall(engine: SimEngine, id: string, call: string): void {
    this.violate(`the agent on ${engine.machine} calls ${call} for ${id}, which does not belong to Berth`);
  }

  /**
   * Problems that remain after settling: an active service has no container, or a container has no active
   * service.
   */
  unsettled(): string[] {
    const wanted = new Map<string, string>();
    const problems: string[] = [];
    for (const service of this.ledger.services.values()) {
      if (service.status === 'starting' || service.status === 'terminating')
        problems.push(`service ${service.id} is ${service.status}`);
      if (isLive(service)) wanted.set(`${service.id}.${service.generation}`, String(service.backend_id));
    }
    for (const container of this.#ours()) {
      const { key, id, state } = container;
      const health = healthOf(container, this.world.nowMs)?.state;
      const name = `${key?.service}.${key?.generation}`;
      if (!wanted.has(name))
        problems.push(`container ${id} of ${name} is ${state}, but no service is active`);
      else if (state !== 'running') problems.push(`container ${id} of ${name} is ${state}`);
      else if (health === 'unhealthy')
        problems.push(`container ${id} of ${name} is unhealthy and still runs`);
      else if (wanted.get(name) !== id)
        problems.push(`container ${id} of ${name} is recorded as ${wanted.get(name)}`);
      wanted.delete(name);
    }
    return [...problems, ...[...wanted.keys()].map((name) => `${name} has no container`)];
  }

  /** Engines whose container of another owner is gone, although no agent may touch it. */
  missingForeign(): string[] {
    const machines = this.engines.filter(
      ({ containers }) => ![...containers.values()].some(({ key }) => key === null),
    );
    return machines.map(({ machine }) => `the container of another owner on ${machine} is gone`);
  }

  #ours(): SimContainer[] {
    return this.engines
      .flatMap((engine) => [...engine.containers.values()])
      .filter(({ key }) => key !== null);
  }

  #running(): SimContainer[] {
    return this.#ours().filter(({ state }) => state === 'running');
  }
}
