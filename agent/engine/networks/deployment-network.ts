/**
 * The deployment's own network on this engine: created on demand, or found if another agent has created it.
 * Never changes a network without the deployment's label.
 */
import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import type { NetworkInspectInfo } from 'dockerode';
import { engineMessage, statusOf } from '../docker-error.ts';
import { EngineError } from '../engine.ts';
import { label } from '../labels.ts';
import type { BridgeOptions } from './bridge-networks.ts';

/** Limits the search for the network of another agent that created it first. */
const MAX_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 50;

/** The network of all containers, if nothing separates users (`BERTH_NETWORK_ISOLATION=none`). */
export class DeploymentNetwork {
  readonly #docker: Docker;
  readonly #deployment: string;
  readonly #bridgeMade: BridgeOptions['bridgeMade'];
  readonly #engineId: () => Promise<string>;
  readonly #name: string;
  /** Shared by concurrent callers. Reset on failure, or if the network is found to be gone. */
  #id: Promise<string> | undefined;

  /** `engineId` distinguishes the engines whose bridges are on the same machine. */
  constructor(
    docker: Docker,
    { deployment, bridgeMade }: Pick<BridgeOptions, 'deployment' | 'bridgeMade'>,
    engineId: () => Promise<string>,
  ) {
    this.#docker = docker;
    this.#deployment = deployment;
    this.#bridgeMade = bridgeMade;
    this.#engineId = engineId;
    this.#name = `berth-${deployment}`;
  }

  /** Returns the network's id, because its name need not be unique. */
  id(): Promise<string> {
    this.#id ??= this.#ensure().catch((error: unknown) => {
      this.forget();
      throw error;
    });
    return this.#id;
  }

  forget(): void {
    this.#id = undefined;
  }

  async #ensure(): Promise<string> {
    const found = (await this.#find()) ?? (await this.#createOrFind());
    if (this.#isOurs(found)) return found.Id;
    throw new EngineError('permanent', `network ${this.#name} exists but does not belong to this deployment`);
  }

  /**
   * Agents of one deployment may race to create it on one engine, which checks names only loosely. The engine
   * never allows two bridges of the same name: one agent wins, and the others find its network (CONT-23).
   */
  async #createOrFind(): Promise<NetworkInspectInfo | undefined> {
    try {
      await this.#create({ 'com.docker.network.bridge.name': await this.#bridgeName() });
    } catch (error) {
      const lost = statusOf(error) === 409 || engineMessage(error).includes('same bridge name');
      // A bridge that a killed engine left behind cannot be reused. The engine then picks a name.
      if (!lost) await this.#create({});
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const found = await this.#find();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, ATTEMPT_PAUSE_MS));
    }
    throw new EngineError('temporary', `network ${this.#name} vanished right after its creation`);
  }

  async #create(options: Record<string, string>): Promise<void> {
    await this.#docker.createNetwork({
      Name: this.#name,
      Driver: 'bridge',
      EnableIPv6: false,
      CheckDuplicate: true,
      Labels: { [label.deployment]: this.#deployment },
      Options: options,
    });
    await this.#bridgeMade?.();
  }

  /** The kernel limits a bridge's name to 15 characters. */
  async #bridgeName(): Promise<string> {
    const hash = createHash('sha256').update(`${this.#deployment}\n${await this.#engineId()}`);
    return `berth${hash.digest('hex').slice(0, 10)}`;
  }

  #isOurs(network: NetworkInspectInfo | undefined): network is NetworkInspectInfo {
    return network?.Labels?.[label.deployment] === this.#deployment;
  }

  /** Returns the oldest network of that name. The engine's filter also matches parts of names. */
  async #find(): Promise<NetworkInspectInfo | undefined> {
    const candidates = await this.#docker.listNetworks({ filters: { name: [this.#name] } });
    const [oldest] = candidates
      .filter(({ Name }) => Name === this.#name)
      .sort((a, b) => a.Created.localeCompare(b.Created) || a.Id.localeCompare(b.Id));
    return oldest;
  }
}
