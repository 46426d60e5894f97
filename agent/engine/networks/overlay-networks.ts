/**
 * Overlay networks of users and executions in a swarm. A container joins the one of its scope beside its
 * bridge network, so that names resolve on all hosts of the swarm. They are internal: whatever leaves the
 * scope goes by the bridge (CONT-65). Never changes a network without the deployment's label.
 */
import type Docker from 'dockerode';
import { FairQueue } from '../../../shared/fair-queue.ts';
import type { Swarm } from '../../../shared/protocol/swarm.ts';
import { engineMessage, statusOf } from '../docker-error.ts';
import { EngineError } from '../engine.ts';
import { label } from '../labels.ts';
import { hostRoutes } from './host-routes.ts';
import { labelsOf, overlayName, overlayOfLabels, type Scope } from './scope.ts';
import { freeSubnet, parseSubnet, type Subnet, subnetText } from './subnets.ts';

export interface OverlayOptions {
  /** True if the engine's networks are on this machine. */
  local: boolean;
  deployment: string;
  /** A clock that is never set. */
  uptimeMs?: () => number;
  /** The routes of this machine. */
  routes?: typeof hostRoutes;
}

interface SwarmInfo {
  NodeID: string;
  LocalNodeState: string;
  ControlAvailable: boolean;
  RemoteManagers: { NodeID: string }[] | null;
  /** Only from a manager's engine. */
  Cluster?: SwarmCluster;
}

/** An overlay network. Without a sub-network if the swarm has not given it one. */
type Found = Pick<Docker.NetworkInspectInfo, 'Id' | 'Name' | 'IPAM'>;

/** Why a container does not start, or is not connected: the swarm has no such network, or no free address. */
const NOT_ATTACHED = /attach(ing)? to network|network \S+-swarm not found/i;
/** A manager makes a network within some hundredths of a second, once its agent has the request. */
const WAIT_MS = 5_000;
const PAUSE_MS = 250;
/** After a start without the network, later starts do not wait for it. */
const RETRY_MS = 60_000;
/** A manager goes on listing a network for a moment after its removal, and refuses the name. */
const MAX_ATTEMPTS = 10;
/** A swarm gives a network its addresses within some hundredths of a second. */
const MAX_PAUSES = 4;
const CONNECTIONS_AT_ONCE = 4;
/** As many as one message of the protocol lists. */
const MAX_MANAGERS = 32;

export class OverlayNetworks {
  readonly #docker: Docker;
  readonly #deployment: string;
  readonly #routes: typeof hostRoutes | undefined;
  readonly #uptimeMs: () => number;
  /** By name: when a network was last requested, or refused to be removed because it is in use. */
  readonly #neededMs = new Map<string, number>();
  /** By name: when a container last started without the network. */
  readonly #missedMs = new Map<string, number>();
  readonly #connections = new FairQueue({ total: CONNECTIONS_AT_ONCE });
  /** Whether the engine was in a swarm when it last reported. */
  #isMember = true;

  constructor(
    docker: Docker,
    { deployment, local, uptimeMs = () => performance.now(), routes = hostRoutes }: OverlayOptions,
  ) {
    this.#docker = docker;
    this.#deployment = deployment;
    this.#routes = local ? routes : undefined;
    this.#uptimeMs = uptimeMs;
  }

  /** The swarm that the engine is in. Null: none. */
  async swarm(): Promise<Swarm | null> {
    const info = await this.#info();
    this.#isMember = info?.LocalNodeState === 'active';
    if (!info || !this.#isMember) return null;
    const { NodeID: node, ControlAvailable: isManager, RemoteManagers } = info;
    const managers = (RemoteManagers ?? []).map(({ NodeID }) => NodeID).slice(0, MAX_MANAGERS);
    return { node, isManager, managers };
  }

  /**
   * Makes the network of a scope. Several managers may do so at once: the swarm gives each name once, and
   * each address to one network. A network that it gives no addresses is made again with others.
   */
  async make(scope: Scope): Promise<void> {
    const name = overlayName(scope, this.#deployment);
    this.#neededMs.set(name, this.#uptimeMs());
    const refused: Subnet[] = [];
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const subnet = await this.#freeSubnet(refused);
      await this.#create(scope, subnet);
      const found = await this.#withAddresses(name);
      if (found && subnetsOf(found).length > 0) return;
      if (!found) continue;
      await this.#remove(found.Id, name);
      if (subnet) refused.push(subnet);
    }
    throw new EngineError('temporary', `the swarm gave network ${name} no addresses: its pool may be full`);
  }

  /**
   * Runs `start`, which starts a created container, on the overlay network as well. The network may be made
   * at the same time. If it is not there in time, the container starts without it, and `repair` connects it.
   */
  async start<T>(name: string, container: { id: string; name: string }, start: () => Promise<T>): Promise<T> {
    const beganMs = this.#uptimeMs();
    if (beganMs - (this.#missedMs.get(name) ?? Number.NEGATIVE_INFINITY) < RETRY_MS) return await start();
    // The engine only notes it: it looks for the network when it starts the container.
    await this.#connect(name, container);
    for (;;) {
      try {
        return await start();
      } catch (error) {
        if (!NOT_ATTACHED.test(engineMessage(error))) throw error;
        if (this.#uptimeMs() - beganMs >= WAIT_MS) break;
      }
      await pause(PAUSE_MS);
    }
    this.#missedMs.set(name, this.#uptimeMs());
    await this.#docker.getNetwork(name).disconnect({ Container: container.id, Force: true });
    return await start();
  }

  /** Connects running containers that started without their overlay network, if it exists by now. */
  async repair(): Promise<void> {
    if (!this.#isMember) return;
    const filters = { label: [`${label.deployment}=${this.#deployment}`, label.overlay] };
    const containers = await this.#docker.listContainers({ filters });
    const missing = new Map<string, { id: string; name: string }[]>();
    for (const {
      Id: id,
      Names: [name = ''],
      Labels,
      NetworkSettings,
    } of containers) {
      const network = overlayOfLabels(Labels, this.#deployment);
      if (network === undefined || network in (NetworkSettings?.Networks ?? {})) continue;
      missing.set(network, [...(missing.get(network) ?? []), { id, name: name.slice(1) }]);
    }
    for (const [network, [first, ...others]] of missing) {
      // One attempt shows whether the network exists.
      if (!first || !(await this.#isConnected(network, first))) continue;
      this.#missedMs.delete(network);
      await Promise.all(others.map((one) => this.#isConnected(network, one)));
    }
  }

  /**
   * Removes the deployment's overlay networks if this engine manages the swarm. The swarm refuses while a
   * container of any host uses one.
   */
  async removeUnused(graceMs: number): Promise<void> {
    if (!this.#isMember) return;
    const own = await this.#own();
    const names = new Set(own.map(({ Name }) => Name));
    for (const [name, sinceMs] of this.#neededMs)
      if (!names.has(name) && this.#uptimeMs() - sinceMs > graceMs) this.#neededMs.delete(name);
    for (const [name, sinceMs] of this.#missedMs)
      if (this.#uptimeMs() - sinceMs > RETRY_MS) this.#missedMs.delete(name);
    if (own.length === 0 || !(await this.#info())?.ControlAvailable) return;
    for (const { Id, Name } of own) {
      const neededMs = this.#neededMs.get(Name) ?? this.#uptimeMs();
      this.#neededMs.set(Name, neededMs);
      if (this.#uptimeMs() - neededMs >= graceMs) await this.#remove(Id, Name);
    }
  }

  /** Nothing happens if the name is taken. */
  async #create(scope: Scope, subnet: Subnet | undefined): Promise<void> {
    try {
      await this.#docker.createNetwork({
        Name: overlayName(scope, this.#deployment),
        Driver: 'overlay',
        EnableIPv6: false,
        Attachable: true,
        Internal: true,
        CheckDuplicate: true,
        Labels: labelsOf(scope, this.#deployment),
        ...(subnet && { IPAM: { Driver: 'default', Config: [{ Subnet: subnetText(subnet) }] } }),
      });
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
    }
  }

  /** A free sub-network of the swarm's pool. Undefined: the swarm chooses. */
  async #freeSubnet(refused: readonly Subnet[]): Promise<Subnet | undefined> {
    const pool = overlayPool((await this.#info())?.Cluster);
    if (!pool) return undefined;
    const networks = (await this.#docker.listNetworks()).flatMap(subnetsOf);
    const routes = (await this.#routes?.()) ?? [];
    return freeSubnet(pool.ranges, pool.bits, [...networks, ...refused, ...routes]);
  }

  /** The network once it has addresses, or as it is after a while. Undefined: there is none. */
  async #withAddresses(name: string): Promise<Found | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      const found = (await this.#own()).find(({ Name }) => Name === name);
      if ((found && subnetsOf(found).length > 0) || attempt === MAX_PAUSES) return found;
      await pause(PAUSE_MS);
    }
  }

  async #remove(id: string, name: string): Promise<void> {
    try {
      await this.#docker.getNetwork(id).remove();
      this.#neededMs.delete(name);
    } catch (error) {
      const status = statusOf(error);
      if (status !== 400 && status !== 403 && status !== 404 && status !== 409) throw error;
      this.#neededMs.set(name, this.#uptimeMs());
    }
  }

  async #own(): Promise<Found[]> {
    const filters = { label: [`${label.deployment}=${this.#deployment}`], scope: ['swarm'] };
    return await this.#docker.listNetworks({ filters });
  }

  /** Engines other than Docker's may not have the field. */
  async #info(): Promise<SwarmInfo | undefined> {
    return ((await this.#docker.info()) as { Swarm?: SwarmInfo }).Swarm;
  }

  /** Only notes it if the container is not running. It may be connected already. */
  async #connect(network: string, { id, name }: { id: string; name: string }): Promise<void> {
    try {
      await this.#docker.getNetwork(network).connect({ Container: id, EndpointConfig: { Aliases: [name] } });
    } catch (error) {
      const status = statusOf(error);
      if (status !== 403 && status !== 409) throw error;
    }
  }

  /** False if the network cannot be joined. */
  #isConnected(network: string, container: { id: string; name: string }): Promise<boolean> {
    return this.#connections.run(async () => {
      try {
        await this.#connect(network, container);
        return true;
      } catch (error) {
        // The container may be gone, and the network missing or full.
        if (statusOf(error) !== 404 && !NOT_ATTACHED.test(engineMessage(error))) throw error;
        return false;
      }
    });
  }
}

const subnetsOf = ({ IPAM }: Pick<Found, 'IPAM'>): Subnet[] =>
  (IPAM?.Config ?? []).flatMap(({ Subnet: text = '' }) => parseSubnet(text) ?? []);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What the engine of a manager reports about its swarm. Engines before 18.09 have no pool. */
interface SwarmCluster {
  DefaultAddrPool?: string[] | null;
  SubnetSize?: number;
}

/** The pool from which a swarm's overlay networks take their addresses, and the size of Berth's. */
interface OverlayPool {
  ranges: Subnet[];
  /** Prefix of each network. */
  bits: number;
}

/** 4,093 addresses, of which each host takes one. */
const PREFERRED_BITS = 20;
/** The largest range has room for 4,096 networks, unless the swarm's own choice of a prefix leaves less. */
const NETWORK_BITS = 12;

/** Undefined: the swarm chooses, because its own networks are as large, or because its pool is not known. */
export function overlayPool(cluster: SwarmCluster | undefined): OverlayPool | undefined {
  const ranges = (cluster?.DefaultAddrPool ?? []).flatMap((text) => parseSubnet(text) ?? []);
  // Infinite without ranges.
  const largest = Math.min(...ranges.map(({ bits }) => bits));
  const bits = Math.max(PREFERRED_BITS, largest + NETWORK_BITS);
  return bits < (cluster?.SubnetSize ?? 0) ? { ranges, bits } : undefined;
}
