/**
 * The networks that containers join: one that the description names, the one that the agent's settings name
 * for all services, or one of the container's user or execution. Removes networks that nothing uses.
 */
import type Docker from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import type { Overlay, Swarm } from '../../../shared/protocol/swarm.ts';
import { engineMessage, isNetworkMissing, wrapErrors } from '../docker-error.ts';
import { EngineError } from '../engine.ts';
import { label } from '../labels.ts';
import { BridgeNetworks, type BridgeOptions } from './bridge-networks.ts';
import { DeploymentNetwork } from './deployment-network.ts';
import { OverlayNetworks } from './overlay-networks.ts';
import { overlayName, type Scope, scopeOf, scopeOfLabels } from './scope.ts';
import { SharedNetwork } from './shared-network.ts';
import { UnusedNetworks } from './unused-networks.ts';

export interface NetworkOptions extends BridgeOptions {
  /** An existing network for all services. Null: Berth makes the networks. */
  network: string | null;
  /** Networks that a description may name. */
  networks: readonly string[];
  /** False: containers join no overlay networks, even if the engine is in a swarm. */
  overlay: boolean;
  /** A clock that is never set. */
  uptimeMs?: () => number;
}

/** The engine's answer if all addresses of a network are in use. */
const FULL = /no available IPv4 addresses on this network's address pools/;

export class ContainerNetworks {
  readonly #docker: Docker;
  readonly #options: NetworkOptions;
  readonly #shared: SharedNetwork | undefined;
  readonly #deployment: DeploymentNetwork;
  readonly #bridges: BridgeNetworks;
  readonly #overlays: OverlayNetworks;
  readonly #unused: UnusedNetworks;
  /** Scopes of the executions on this engine: an execution stays on its network (CONT-63). */
  #scopes: Promise<Map<number, Scope>> | undefined;

  constructor(docker: Docker, options: NetworkOptions, engineId: () => Promise<string>) {
    const { network } = options;
    this.#docker = docker;
    this.#options = options;
    this.#shared = network === null ? undefined : new SharedNetwork(docker, network);
    this.#deployment = new DeploymentNetwork(docker, options, engineId);
    this.#bridges = new BridgeNetworks(docker, options, engineId);
    this.#overlays = new OverlayNetworks(docker, options);
    this.#unused = new UnusedNetworks(docker, options, engineId);
  }

  /** Why no container can join a network, with the remedy. Undefined if this engine reports no problem. */
  async problem(): Promise<string | undefined> {
    return await this.#shared?.problem();
  }

  /**
   * The id or name of the network that the container joins. A description may name only networks that the
   * settings allow: `host`, for example, gives no isolation.
   */
  async join(assignment: Assignment): Promise<string> {
    const { network } = assignment;
    if (network !== null) {
      if (this.#options.networks.includes(network)) return network;
      const remedy = 'its agent allows only the networks in BERTH_AGENT_NETWORKS';
      throw new EngineError('permanent', `network not allowed on this host: ${network} (${remedy})`);
    }
    if (this.#shared) return await this.#shared.join();
    return await wrapErrors(this.#joinOwn(assignment));
  }

  /** The swarm whose overlay networks containers can join. Null: none. */
  async swarm(): Promise<Swarm | null> {
    if (this.#shared || !this.#options.overlay) return null;
    return await wrapErrors(this.#overlays.swarm());
  }

  async makeOverlay({ isolation: kind, of }: Overlay): Promise<void> {
    await wrapErrors(this.#overlays.make({ kind, of }));
  }

  /** Name of the overlay network that the container joins as well, if any. */
  async overlay(assignment: Assignment): Promise<string | undefined> {
    if (assignment.overlay === undefined || !this.#isOwn(assignment) || !this.#options.overlay)
      return undefined;
    const scope = await wrapErrors(this.#scopeOf(assignment));
    return scope.kind === 'deployment' ? undefined : overlayName(scope, this.#options.deployment);
  }

  /** Runs `start`, which starts the created container. */
  async start<T>(assignment: Assignment, id: string, start: () => Promise<T>): Promise<T> {
    const overlay = assignment.overlay === 'now' ? await this.overlay(assignment) : undefined;
    if (overlay === undefined) return await start();
    return await this.#overlays.start(overlay, { id, name: assignment.name }, start);
  }

  /** Called after a failed start. True if the container can be created again, on another network. */
  async recover(assignment: Assignment, container: string, error: unknown): Promise<boolean> {
    if (assignment.network !== null) return false;
    if (this.#shared) return isNetworkMissing(error);
    const scope = await this.#scopeOf(assignment);
    if (isNetworkMissing(error)) {
      if (scope.kind === 'deployment') this.#deployment.forget();
      else this.#bridges.forget(scope);
      return true;
    }
    if (scope.kind === 'deployment' || !FULL.test(engineMessage(error))) return false;
    const { HostConfig } = await wrapErrors(this.#docker.getContainer(container).inspect());
    await wrapErrors(this.#bridges.enlarge(scope, HostConfig.NetworkMode ?? ''));
    return true;
  }

  /** Called after each start. */
  async started(assignment: Assignment, container: string): Promise<void> {
    if (!this.#isOwn(assignment)) return;
    const scope = await this.#scopeOf(assignment);
    if (scope.kind === 'deployment') return;
    await wrapErrors(this.#bridges.started(scope, { id: container, name: assignment.name }));
  }

  /** Removes the deployment's networks that no container has used for `graceMs`. */
  async removeUnused(graceMs: number): Promise<void> {
    await wrapErrors(this.#removeUnused(graceMs));
    if (!this.#options.overlay) return;
    await wrapErrors(this.#overlays.repair());
    await wrapErrors(this.#overlays.removeUnused(graceMs));
  }

  /** Whether the container is on networks that the agent makes. */
  #isOwn({ network }: Assignment): boolean {
    return network === null && !this.#shared;
  }

  async #joinOwn(assignment: Assignment): Promise<string> {
    const scope = await this.#scopeOf(assignment);
    const id = scope.kind === 'deployment' ? await this.#deployment.id() : await this.#bridges.current(scope);
    this.#unused.used(id);
    return id;
  }

  async #removeUnused(graceMs: number): Promise<void> {
    const { scopes, executions } = await this.#unused.remove(graceMs, (scope) => {
      if (scope.kind === 'deployment') this.#deployment.forget();
      else this.#bridges.forget(scope);
    });
    for (const scope of scopes) await this.#bridges.repair(scope);
    const known = await this.#scopes;
    for (const execution of known?.keys() ?? []) if (!executions.has(execution)) known?.delete(execution);
  }

  async #scopeOf(assignment: Assignment): Promise<Scope> {
    this.#scopes ??= this.#readScopes().catch((error: unknown) => {
      this.#scopes = undefined;
      throw error;
    });
    const scopes = await this.#scopes;
    const scope = scopes.get(assignment.execution) ?? scopeOf(assignment);
    scopes.set(assignment.execution, scope);
    return scope;
  }

  /** An earlier agent, perhaps of another version or with other settings, has chosen them. */
  async #readScopes(): Promise<Map<number, Scope>> {
    const filters = { label: [`${label.deployment}=${this.#options.deployment}`] };
    const [networks, containers] = await Promise.all([
      this.#docker.listNetworks({ filters }),
      this.#docker.listContainers({ filters }),
    ]);
    const scopes = new Map(networks.map(({ Id, Labels }) => [Id, scopeOfLabels(Labels)]));
    const found = containers.flatMap(({ Labels, NetworkSettings }) =>
      Object.values(NetworkSettings?.Networks ?? {}).flatMap(({ NetworkID }) => {
        const scope = scopes.get(NetworkID);
        return scope ? [[Number(Labels[label.execution]), scope] as const] : [];
      }),
    );
    return new Map(found);
  }
}
