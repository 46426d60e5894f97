/**
 * A Berth on several hosts, all on this machine. Each host is a namespace with an engine and an agent of its
 * own. The engines form one swarm, whose overlay network the agents use. The control plane runs on a machine
 * beside the hosts, and a bridge connects all. The cluster does not touch the machine's own network, and no
 * part of it outlives the cluster.
 */
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { plain } from '../clients/account-client.ts';
import { ApiClient } from '../clients/api-client.ts';
import { type Program, programPath, startCommand } from '../hosts/process.ts';
import { documentedAt } from '../tools/documented.ts';
import { Door } from './door.ts';
import { type AgentSettings, ClusterHost, type HostOptions } from './host.ts';
import { folderOf, newName, removeAll, removeLeftovers } from './leftovers.ts';
import { Namespace } from './namespace.ts';
import { ensurePrograms } from './programs.ts';

export interface ClusterOptions {
  deployment: string;
  /** The first host manages the swarm. */
  hosts: HostOptions[];
  /** The network of all services. Empty: the agents make networks. Default: the overlay network. */
  network?: string;
  /** Further settings of the control plane. */
  env?: NodeJS.ProcessEnv;
}

/** Name of the network that the agents of a cluster use. */
export const OVERLAY = 'berth-overlay';

const PASSWORD = 'secret words';
const BRIDGE = 'switch';
const SUBNET = '192.168.77';
const GATEWAY = `${SUBNET}.1`;
const PORT = 5001;
const START_MS = 60_000;

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  await ensurePrograms();
  await removeLeftovers();
  const cluster = new Cluster(options, await newName(), await Namespace.make());
  try {
    await cluster.start();
  } catch (error) {
    await cluster.discard();
    throw error;
  }
  return cluster;
}

export class Cluster {
  readonly deployment: string;
  readonly #options: ClusterOptions;
  readonly #name: string;
  /** The control plane's machine, which is also the switch. */
  readonly #hub: Namespace;
  readonly #door: Door;
  #hosts: ClusterHost[] = [];
  #program: Program | undefined;
  #api: ApiClient | undefined;
  #url = '';

  constructor(options: ClusterOptions, name: string, hub: Namespace) {
    this.#options = options;
    this.deployment = options.deployment;
    this.#name = name;
    this.#hub = hub;
    this.#door = new Door(hub);
  }

  get api(): ApiClient {
    if (!this.#api) throw new Error('the control plane has not been started');
    return this.#api;
  }

  host(name: string): ClusterHost {
    const host = this.#hosts.find((one) => one.name === name);
    if (!host) throw new Error(`the cluster has no host ${name}`);
    return host;
  }

  async start(): Promise<void> {
    await this.#connectHosts();
    await Promise.all([this.#startControlPlane(), this.#startEngines()]);
    await Promise.all(
      this.#hosts.map(async (host) => {
        const BERTH_JOIN_TOKEN = await this.api.joinToken();
        host.startAgent({ ...this.#agentSettings(), BERTH_JOIN_TOKEN });
      }),
    );
    await Promise.all(this.#hosts.map(({ agent }) => agent.waitFor(/session\.synced/, START_MS)));
  }

  /** Makes a user and returns the user's client. */
  async addUser(username: string): Promise<ApiClient> {
    const { http } = this.api;
    const { user_id } = (await http.post('user', { username, ...plain })).json();
    await http.post(`user/${user_id}`, { password: PASSWORD });
    return new ApiClient(this.#url, username, PASSWORD);
  }

  /** Stops the agent of a host, or kills it, and starts it again with further settings. */
  async restartAgent(
    name: string,
    env: NodeJS.ProcessEnv = {},
    end: 'stop' | 'kill' = 'stop',
  ): Promise<void> {
    const host = this.host(name);
    await host.agent[end]();
    host.startAgent({ ...this.#agentSettings(), ...env });
    await host.agent.waitFor(/session\.synced/, START_MS);
  }

  /** Sends a GET request to an address on the hosts' network. */
  async fetch(url: string): Promise<Response> {
    return fetch(await this.#door.to(url));
  }

  /** Containers of an execution and their hosts, by service name. */
  async containersOf(execution: number): Promise<Record<string, ContainerAt>> {
    const filters = { label: [`berth.deployment=${this.deployment}`, `berth.execution=${execution}`] };
    const found: [string, ContainerAt][] = [];
    for (const { name: host, docker } of this.#reachable)
      for (const { Id: id, State: state, Labels, Names } of await docker.listContainers({
        all: true,
        filters,
      })) {
        const [name = ''] = Names;
        const generation = Labels['berth.generation'];
        found.push([name.slice(1, name.indexOf('-')), { host, id, state, generation }]);
      }
    return Object.fromEntries(found);
  }

  /** Names of the containers that the engines have started for an execution since `sinceMs`, in any order. */
  async startsOf(execution: number, sinceMs: number): Promise<string[]> {
    const label = [`berth.deployment=${this.deployment}`, `berth.execution=${execution}`];
    const span = { since: Math.floor(sinceMs / 1000), until: Math.ceil(Date.now() / 1000) };
    const found = await Promise.all(
      this.#reachable.map(async ({ docker }) =>
        text(await docker.getEvents({ ...span, filters: { event: ['start'], label } })),
      ),
    );
    const lines = found.flatMap((events) => events.split('\n').filter((line) => line !== ''));
    return lines.map((line) => JSON.parse(line).Actor.Attributes.name);
  }

  /** Reads the live log of a service until it contains the text. */
  async logUntil(service: number | undefined, words: string): Promise<string> {
    const log = await this.api.openLog(Number(service));
    let read = '';
    for await (const part of log.setEncoding('utf8')) {
      read += part;
      if (read.includes(words)) return read;
    }
    throw new Error(`the log of service ${service} ended without ${JSON.stringify(words)}: ${read}`);
  }

  /** Ends everything. Throws if a program had ended by itself or if anything is left on an engine. */
  async close(): Promise<void> {
    const found = await Promise.all(this.#hosts.map((host) => host.close(this.deployment)));
    const problems = found.flat();
    await this.#program?.stop().catch((error) => problems.push(String(error)));
    await this.discard();
    if (problems.length > 0) throw new Error(problems.join('; '));
  }

  /** Kills everything. */
  async discard(): Promise<void> {
    this.#door.close();
    await this.#program?.kill();
    await Promise.all(this.#hosts.map((host) => host.destroy()));
    await this.#hub.end();
    await removeAll(this.#name);
  }

  async #connectHosts(): Promise<void> {
    await this.#hub.run(`ip link add ${BRIDGE} type bridge`);
    await this.#hub.run(`ip addr add ${GATEWAY}/24 dev ${BRIDGE}`);
    await this.#hub.run(`ip link set ${BRIDGE} up`);
    const at = { namespace: this.#hub, bridge: BRIDGE };
    this.#hosts = await Promise.all(
      this.#options.hosts.map((host, index) =>
        ClusterHost.make(this.#name, host, `${SUBNET}.${11 + index}`, GATEWAY, at),
      ),
    );
  }

  async #startControlPlane(): Promise<void> {
    this.#program = startCommand(
      [...this.#hub.onNetwork, process.execPath, programPath('control-plane/node.ts')],
      {
        env: {
          BERTH_HOST: GATEWAY,
          BERTH_PORT: String(PORT),
          BERTH_DATA_DIR: join(folderOf(this.#name), 'control-plane'),
          BERTH_DEPLOYMENT_NAME: this.deployment,
          BERTH_ADMIN_PASSWORD: PASSWORD,
          BERTH_LOCAL_AGENT: 'off',
          ...this.#options.env,
        },
      },
    );
    await this.#program.waitFor(/listens on/, START_MS);
    const url = await this.#door.to(`http://${GATEWAY}:${PORT}`);
    documentedAt(url, 'B');
    this.#url = url;
    this.#api = new ApiClient(url, 'admin', PASSWORD);
  }

  /** Starts the engines with the image, in one swarm with the overlay network. */
  async #startEngines(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.engine.start()));
    const [manager, ...workers] = this.#hosts;
    if (!manager) throw new Error('a cluster needs at least one host');
    await Promise.all([loadImages(manager, workers), joinSwarm(manager, workers)]);
  }

  get #reachable(): ClusterHost[] {
    return this.#hosts.filter(({ isGone }) => !isGone);
  }

  #agentSettings(): AgentSettings {
    return {
      BERTH_URL: `http://${GATEWAY}:${PORT}`,
      BERTH_AGENT_WITHOUT: 'encryption',
      BERTH_DEPLOYMENT_NAME: this.deployment,
      BERTH_AGENT_NETWORK: this.#options.network ?? OVERLAY,
    };
  }
}

export interface ContainerAt {
  host: string;
  id: string;
  state: string;
  generation: string | undefined;
}

/** Loads the first engine alone, since it may have to download the parts of the image. */
async function loadImages(first: ClusterHost, others: readonly ClusterHost[]): Promise<void> {
  await first.engine.loadImage();
  await Promise.all(others.map((host) => host.engine.loadImage()));
}

/** Does what `docker swarm init`, `swarm join` and `network create --attachable` do. */
async function joinSwarm(manager: ClusterHost, workers: readonly ClusterHost[]): Promise<void> {
  const listen = { ListenAddr: '0.0.0.0:2377' };
  await manager.docker.swarmInit({ ...listen, AdvertiseAddr: manager.address });
  const { JoinTokens } = (await manager.docker.swarmInspect()) as { JoinTokens: { Worker: string } };
  const join = ({ docker, address }: ClusterHost) =>
    docker.swarmJoin({
      ...listen,
      AdvertiseAddr: address,
      RemoteAddrs: [`${manager.address}:2377`],
      JoinToken: JoinTokens.Worker,
    });
  await Promise.all([makeOverlay(manager.docker), ...workers.map(join)]);
}

const makeOverlay = (docker: Docker): Promise<unknown> =>
  docker.createNetwork({ Name: OVERLAY, Driver: 'overlay', Attachable: true });
