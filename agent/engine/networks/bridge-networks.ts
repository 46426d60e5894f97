/**
 * Bridge networks of users and executions on this engine. Each scope has a small network, and a large one
 * once the small one is full; the containers of the small one then join both. Never changes a network
 * without the deployment's label (CONT-61, CONT-62).
 */
import type Docker from 'dockerode';
import type { NetworkInspectInfo } from 'dockerode';
import { FairQueue } from '../../../shared/fair-queue.ts';
import { engineMessage, statusOf } from '../docker-error.ts';
import { EngineError } from '../engine.ts';
import { label } from '../labels.ts';
import { hostRoutes } from './host-routes.ts';
import { bridgeName, bridgePrefix, labelsOf, networkName, type Scope, scopeText } from './scope.ts';
import { capacityOf, freeSubnet, parseSubnet, type Subnet, subnetText } from './subnets.ts';

export interface BridgeOptions {
  deployment: string;
  /** True if the engine's networks are on this machine. */
  local: boolean;
  /** Ranges from which the sub-networks come. */
  subnets: readonly Subnet[];
  /** Called after the creation of a bridge, before a container joins it. Never rejects. */
  bridgeMade?: () => Promise<void>;
  /** Prefixes of a scope's networks, the small one first. */
  prefixes?: readonly number[];
  /** The routes of this machine. */
  routes?: typeof hostRoutes;
}

/**
 * 61 and 1,021 containers. A Linux bridge has at most 1,023 ports, so that a larger network would not help.
 */
const PREFIXES = [26, 22];
const MAX_REFUSED = 20;
/** Limits the search for a network that another agent creates at the same time. */
const MAX_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 50;
const CONNECTIONS_AT_ONCE = 4;

/** The engine's answers if another network has the sub-network, or another or an older one has the bridge. */
const CONFLICT = /overlap|same bridge name|does not match requested configuration/i;

export class BridgeNetworks {
  readonly #docker: Docker;
  readonly #options: BridgeOptions;
  readonly #engineId: () => Promise<string>;
  readonly #prefixes: readonly number[];
  /** The network for new containers, by the name of the scope's first one. Shared by concurrent callers. */
  readonly #current = new Map<string, Promise<string>>();
  /** Scopes with a large network, by the same name. */
  readonly #enlarged = new Set<string>();
  readonly #connections = new FairQueue({ total: CONNECTIONS_AT_ONCE });

  /** `engineId` distinguishes the engines whose bridges are on the same machine. */
  constructor(docker: Docker, options: BridgeOptions, engineId: () => Promise<string>) {
    this.#docker = docker;
    this.#options = options;
    this.#engineId = engineId;
    this.#prefixes = options.prefixes ?? PREFIXES;
  }

  /** Returns the id of the network that new containers of the scope join. Creates it if necessary. */
  current(scope: Scope): Promise<string> {
    return this.#current.get(this.#name(scope)) ?? this.#remember(scope, this.#find(scope));
  }

  /** The scope's network vanished, or is about to be removed. */
  forget(scope: Scope): void {
    this.#current.delete(this.#name(scope));
    this.#enlarged.delete(this.#name(scope));
  }

  /** Network `full` has no free address: the scope gets a large one, which its containers join. */
  async enlarge(scope: Scope, full: string): Promise<void> {
    const seen = this.current(scope);
    if ((await seen) !== full) return;
    // The first of concurrent callers creates it, and the others wait.
    const isFirst = this.#current.get(this.#name(scope)) === seen;
    await (isFirst ? this.#remember(scope, this.#createLarge(scope, full)) : this.current(scope));
  }

  /** A container has started, perhaps on the small network while the scope got its large one. */
  async started(scope: Scope, container: { id: string; name: string }): Promise<void> {
    if (!this.#enlarged.has(this.#name(scope))) return;
    await this.#connect(await this.current(scope), container);
  }

  /** Connects the scope's running containers to its large network, if it has one (after a crash). */
  async repair(scope: Scope): Promise<void> {
    const networks = await this.#existing(scope);
    const large = networks.at(-1);
    if (networks.length < 2 || !large) return;
    this.#enlarged.add(this.#name(scope));
    for (const small of networks.slice(0, -1)) await this.#connectAll(small.Id, large.Id);
  }

  #name(scope: Scope): string {
    return networkName(scope, this.#options.deployment, 0);
  }

  #remember(scope: Scope, network: Promise<string>): Promise<string> {
    const name = this.#name(scope);
    const remembered = network.catch((error: unknown) => {
      if (this.#current.get(name) === remembered) this.#current.delete(name);
      throw error;
    });
    this.#current.set(name, remembered);
    return remembered;
  }

  async #find(scope: Scope): Promise<string> {
    const networks = await this.#existing(scope);
    const latest = networks.at(-1);
    if (!latest) return await this.#create(scope, 0);
    await this.repair(scope);
    return latest.Id;
  }

  async #createLarge(scope: Scope, full: string): Promise<string> {
    const tier = this.#prefixes.length - 1;
    const existing = await this.#inspect(scope, tier);
    if (existing?.Id === full) {
      const limit = capacityOf(this.#prefixes[tier] ?? 0);
      const bound = `the network of ${scopeText(scope)} on this host is full: it has ${limit} addresses`;
      throw new EngineError('temporary', `${bound}. Use more hosts`);
    }
    const large = existing?.Id ?? (await this.#create(scope, tier));
    // From now on a container whose start is in progress on the small network connects itself.
    this.#enlarged.add(this.#name(scope));
    await this.repair(scope);
    return large;
  }

  /** The scope's networks, the large one last. */
  async #existing(scope: Scope): Promise<NetworkInspectInfo[]> {
    const found = await Promise.all(this.#prefixes.map((_, tier) => this.#inspect(scope, tier)));
    return found.filter((network) => network !== undefined);
  }

  /** Returns the oldest network of that name. The engine's filter also matches parts of names. */
  async #inspect(scope: Scope, tier: number): Promise<NetworkInspectInfo | undefined> {
    const { deployment } = this.#options;
    const name = networkName(scope, deployment, tier);
    const candidates = await this.#docker.listNetworks({ filters: { name: [name] } });
    const [oldest] = candidates
      .filter(({ Name }) => Name === name)
      .sort((a, b) => a.Created.localeCompare(b.Created) || a.Id.localeCompare(b.Id));
    if (oldest && oldest.Labels?.[label.deployment] !== deployment)
      throw new EngineError('permanent', `network ${name} exists but does not belong to this deployment`);
    return oldest;
  }

  /**
   * Agents of one deployment may race on one engine. They choose the same sub-network, which the engine gives
   * only once: one agent creates the network, and the others find it.
   */
  async #create(scope: Scope, tier: number): Promise<string> {
    const refused: Subnet[] = [];
    while (refused.length < MAX_REFUSED) {
      const subnet = await this.#freeSubnet(this.#prefixes[tier] ?? 0, refused);
      try {
        const id = await this.#createWith(scope, tier, subnet);
        return (await this.#inspect(scope, tier))?.Id ?? id;
      } catch (error) {
        if (statusOf(error) !== 409 && !CONFLICT.test(engineMessage(error))) throw error;
      }
      const found = await this.#waitFor(scope, tier);
      if (found) return found.Id;
      refused.push(subnet);
    }
    const name = networkName(scope, this.#options.deployment, tier);
    throw new EngineError('temporary', `the engine refused ${MAX_REFUSED} sub-networks for network ${name}`);
  }

  /** Waits for the network that another agent may be creating. */
  async #waitFor(scope: Scope, tier: number): Promise<NetworkInspectInfo | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const found = await this.#inspect(scope, tier);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, ATTEMPT_PAUSE_MS));
    }
    return undefined;
  }

  async #createWith(scope: Scope, tier: number, subnet: Subnet): Promise<string> {
    const { deployment } = this.#options;
    const index = Math.floor(subnet.first / 2 ** (32 - (this.#prefixes[0] ?? 0)));
    const { id } = await this.#docker.createNetwork({
      Name: networkName(scope, deployment, tier),
      Driver: 'bridge',
      // Engines may give IPv6 to all networks by default. The firewall's rules are for IPv4 only (P96).
      EnableIPv6: false,
      CheckDuplicate: true,
      Labels: labelsOf(scope, deployment),
      IPAM: { Driver: 'default', Config: [{ Subnet: subnetText(subnet) }] },
      Options: { 'com.docker.network.bridge.name': bridgeName(await this.#engineId(), index) },
    });
    await this.#options.bridgeMade?.();
    return id;
  }

  async #freeSubnet(bits: number, refused: readonly Subnet[]): Promise<Subnet> {
    const { subnets, local } = this.#options;
    const networks = await this.#docker.listNetworks();
    const taken = networks.flatMap(({ IPAM }) =>
      (IPAM?.Config ?? []).flatMap(({ Subnet: text = '' }) => parseSubnet(text) ?? []),
    );
    const free = freeSubnet(subnets, bits, [...taken, ...refused, ...(local ? await this.#routes() : [])]);
    if (free) return free;
    const ranges = subnets.map(subnetText).join(',');
    throw new EngineError(
      'temporary',
      `no sub-network /${bits} is free in BERTH_AGENT_SUBNETS=${ranges}: add a range that nothing else uses`,
    );
  }

  /**
   * Without those of this engine's own bridges. Its networks are known already, another agent may be creating
   * one, and the engine uses a bridge again that a crash has left.
   */
  async #routes(): Promise<Subnet[]> {
    const prefix = bridgePrefix(await this.#engineId());
    const { routes = hostRoutes } = this.#options;
    return (await routes()).filter(({ device }) => !device.startsWith(prefix));
  }

  async #connectAll(from: string, to: string): Promise<void> {
    const filters = { network: [from], label: [`${label.deployment}=${this.#options.deployment}`] };
    const containers = await this.#docker.listContainers({ filters });
    const missing = containers.filter(({ NetworkSettings }) =>
      Object.values(NetworkSettings?.Networks ?? {}).every(({ NetworkID }) => NetworkID !== to),
    );
    await Promise.all(
      missing.map(({ Id: id, Names: [name = ''] }) => this.#connect(to, { id, name: name.slice(1) })),
    );
  }

  /** A container that has ended, or is connected already, needs nothing. */
  #connect(network: string, { id, name }: { id: string; name: string }): Promise<void> {
    return this.#connections.run(async () => {
      try {
        await this.#docker
          .getNetwork(network)
          .connect({ Container: id, EndpointConfig: { Aliases: [name] } });
      } catch (error) {
        const status = statusOf(error);
        if (status !== 403 && status !== 404 && status !== 409) throw error;
      }
    });
  }
}
