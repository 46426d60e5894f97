/** One host of a cluster: its network, its engine and its agent, and the faults that a test can cause. */
import { join } from 'node:path';
import type Docker from 'dockerode';
import { runIn } from '../engines/run-in-container.ts';
import { type Program, programPath, startCommand } from '../hosts/process.ts';
import { NamespacedEngine } from './engine.ts';
import { cgroupOf, folderOf, mountDisk } from './leftovers.ts';
import { Namespace } from './namespace.ts';

export interface HostOptions {
  name: string;
  labels?: string[];
  /** Size of the file system that the engine's and the agent's data lie on. Default: that of the tests. */
  diskBytes?: number;
}

// States of a bridge's port, from the kernel's if_bridge.h.
const DISABLED = 0;
const FORWARDING = 3;

/** The bridge that hosts are connected to. */
export interface Switch {
  namespace: Namespace;
  bridge: string;
}

/** Settings that all agents of the cluster receive. */
export type AgentSettings = NodeJS.ProcessEnv;

export class ClusterHost {
  readonly name: string;
  readonly address: string;
  readonly engine: NamespacedEngine;
  readonly #options: HostOptions;
  readonly #namespace: Namespace;
  readonly #switch: Switch;
  readonly #cluster: string;
  #agent: Program | undefined;
  isGone = false;

  private constructor(
    cluster: string,
    options: HostOptions,
    address: string,
    namespace: Namespace,
    at: Switch,
  ) {
    this.#cluster = cluster;
    this.#options = options;
    this.name = options.name;
    this.address = address;
    this.#namespace = namespace;
    this.#switch = at;
    this.engine = new NamespacedEngine(namespace, this.folder, cgroupOf(cluster));
  }

  /** Makes a connected host without an engine or an agent. */
  static async make(
    cluster: string,
    options: HostOptions,
    address: string,
    gateway: string,
    at: Switch,
  ): Promise<ClusterHost> {
    // Mounted before the namespace is made: the engine inside and the agent outside see the same files.
    if (options.diskBytes) await mountDisk(join(folderOf(cluster), options.name), options.diskBytes);
    const namespace = await Namespace.make();
    const host = new ClusterHost(cluster, options, address, namespace, at);
    await at.namespace.run(`ip link add ${host.#port} type veth peer name eth0 netns ${namespace.pid}`);
    await at.namespace.run(`ip link set ${host.#port} master ${at.bridge} up`);
    await namespace.run(`ip addr add ${address}/24 dev eth0`);
    await namespace.run('ip link set eth0 up');
    await namespace.run(`ip route add default via ${gateway}`);
    return host;
  }

  get docker(): Docker {
    return this.engine.docker;
  }

  get agent(): Program {
    if (!this.#agent) throw new Error(`host ${this.name} has no agent`);
    return this.#agent;
  }

  startAgent(settings: AgentSettings): void {
    const { labels = [] } = this.#options;
    this.#agent = startCommand(
      [...this.#namespace.onNetwork, process.execPath, programPath('agent/main.ts')],
      {
        env: {
          DOCKER_HOST: this.engine.dockerHost,
          BERTH_AGENT_NAME: this.name,
          BERTH_AGENT_LABELS: labels.join(','),
          BERTH_DATA_DIR: this.folder,
          ...settings,
        },
      },
    );
  }

  /** Runs a program in a container to its end. Throws if the program fails. */
  async exec(container: string | undefined, ...command: string[]): Promise<void> {
    await runIn(this.docker, String(container), ...command);
  }

  /**
   * Drops all packets in both directions without an error. The port stays with the bridge: outside of it, the
   * kernel would answer for the gateway's address there and let packets through to the control plane.
   */
  async cut(): Promise<void> {
    await this.#setPort(DISABLED);
  }

  async heal(): Promise<void> {
    await this.#setPort(FORWARDING);
  }

  async #setPort(state: number): Promise<void> {
    await this.#switch.namespace.run(`bridge link set dev ${this.#port} state ${state}`);
  }

  /** Destroys the host permanently, with everything that runs on it. */
  async destroy(): Promise<void> {
    this.isGone = true;
    await this.#agent?.kill();
    this.#agent = undefined;
    await this.#namespace.end();
  }

  /** Ends the agent and the host. Returns the problems found. */
  async close(deployment: string): Promise<string[]> {
    const problems: string[] = [];
    if (this.#agent) {
      if (this.#agent.ended !== undefined)
        problems.push(`the agent of ${this.name} has ended by itself: ${this.#agent.output.slice(-2000)}`);
      else await this.#agent.stop().catch((error) => problems.push(String(error)));
      const filters = { label: [`berth.deployment=${deployment}`] };
      const containers = await this.docker.listContainers({ all: true, filters });
      problems.push(...containers.map(({ Names, State }) => `left on ${this.name}: ${Names[0]} (${State})`));
    }
    await this.#namespace.end();
    return problems;
  }

  get folder(): string {
    return join(folderOf(this.#cluster), this.name);
  }

  /** The host's network interface at the switch. */
  get #port(): string {
    return `to-${this.name}`;
  }
}
