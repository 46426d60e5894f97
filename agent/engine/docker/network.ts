/**
 * Owns the deployment's network on this engine: made on demand, found again when another agent made it. Never touches
 * a network without the deployment's label, except to join the one a description names.
 */
import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import type { NetworkInspectInfo } from 'dockerode';
import { EngineError } from '../engine.ts';
import { label } from './container-spec.ts';
import { engineMessage, statusOf } from './docker-error.ts';

/** How often the network of another agent, which won the race for it, is looked for. */
const MAX_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 50;

/** The network that services are on, unless their description names another. */
export interface ServiceNetwork {
  /** What containers join it by. */
  id(): Promise<string>;
  /** Why no container can join it, and what to do, as far as this engine can tell. */
  problem(): Promise<string | undefined>;
  /** What was known of it holds no more. */
  forget(): void;
  /** Leaves nothing behind that is the deployment's alone and unused. */
  removeUnused(): Promise<void>;
}

export class DeploymentNetwork implements ServiceNetwork {
  readonly #docker: Docker;
  readonly #deployment: string;
  readonly #engineId: () => Promise<string>;
  readonly #name: string;
  /** Shared by all who wait for it; forgotten when it fails or the network is found to be gone. */
  #id: Promise<string> | undefined;

  /** `engineId` tells the engine from others whose bridges are on the same machine. */
  constructor(docker: Docker, deployment: string, engineId: () => Promise<string>) {
    this.#docker = docker;
    this.#deployment = deployment;
    this.#engineId = engineId;
    this.#name = `berth-${deployment}`;
  }

  /** The network's id, for its name need not be unique. */
  id(): Promise<string> {
    this.#id ??= this.#ensure().catch((error: unknown) => {
      this.forget();
      throw error;
    });
    return this.#id;
  }

  /** What is wrong is found when it is made, for each start. */
  async problem(): Promise<undefined> {}

  forget(): void {
    this.#id = undefined;
  }

  /** Removes each network with the deployment's label, also what a race or another version left, unless a container is on it. */
  async removeUnused(): Promise<void> {
    this.forget();
    const filters = { label: [`${label.deployment}=${this.#deployment}`] };
    for (const { Id } of await this.#docker.listNetworks({ filters })) {
      try {
        await this.#docker.getNetwork(Id).remove();
      } catch (error) {
        const status = statusOf(error);
        if (status !== 403 && status !== 404 && status !== 409) throw error;
      }
    }
  }

  async #ensure(): Promise<string> {
    const found = (await this.#find()) ?? (await this.#createOrFind());
    if (this.#isOurs(found)) return found.Id;
    throw new EngineError('permanent', `network ${this.#name} exists and does not belong to this deployment`);
  }

  /**
   * Agents of one deployment may race for it on one engine, which looks at names only loosely. What it never allows
   * twice is a bridge of one name: one agent wins, and the others find its network.
   */
  async #createOrFind(): Promise<NetworkInspectInfo | undefined> {
    try {
      await this.#create({ 'com.docker.network.bridge.name': await this.#bridgeName() });
    } catch (error) {
      const lost = statusOf(error) === 409 || engineMessage(error).includes('same bridge name');
      // A bridge left behind by an engine that died can't be taken over: the engine picks a name then.
      if (!lost) await this.#create({});
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const found = await this.#find();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, ATTEMPT_PAUSE_MS));
    }
    throw new EngineError('temporary', `network ${this.#name} vanished as soon as it was made`);
  }

  async #create(options: Record<string, string>): Promise<void> {
    await this.#docker.createNetwork({
      Name: this.#name,
      Driver: 'bridge',
      CheckDuplicate: true,
      Labels: { [label.deployment]: this.#deployment },
      Options: options,
    });
  }

  /** The kernel takes 15 characters. */
  async #bridgeName(): Promise<string> {
    const hash = createHash('sha256').update(`${this.#deployment}\n${await this.#engineId()}`);
    return `berth${hash.digest('hex').slice(0, 10)}`;
  }

  #isOurs(network: NetworkInspectInfo | undefined): network is NetworkInspectInfo {
    return network?.Labels?.[label.deployment] === this.#deployment;
  }

  /** The oldest of that name; the engine's filter matches parts of names. */
  async #find(): Promise<NetworkInspectInfo | undefined> {
    const candidates = await this.#docker.listNetworks({ filters: { name: [this.#name] } });
    const [oldest] = candidates
      .filter(({ Name }) => Name === this.#name)
      .sort((a, b) => a.Created.localeCompare(b.Created) || a.Id.localeCompare(b.Id));
    return oldest;
  }
}
