/**
 * A host whose ports nobody can reach, as behind NAT: a namespace with an engine and an agent of its own, and
 * with no network but loopback. One port there leads out, to the control plane on this machine.
 */
import type Docker from 'dockerode';
import { QuietNetwork } from '../browser/quiet-network.ts';
import { type Program, programPath, startCommand } from '../hosts/process.ts';
import type { Berth } from '../rigs/berth.ts';
import { NamespacedEngine } from './engine.ts';
import { cgroupOf, folderOf, newName, removeAll, removeLeftovers } from './leftovers.ts';
import { onlyChild } from './namespace.ts';
import { ensurePrograms } from './programs.ts';

const START_MS = 60_000;

/** Settings of a Berth that has no other host, with web applications below localhost. */
export const hiddenSettings = (port: number): NodeJS.ProcessEnv => ({
  BERTH_LOCAL_AGENT: 'off',
  BERTH_PUBLIC_URL: `http://localhost:${port}`,
  BERTH_APPS_URL: `http://*.apps.localhost:${port}`,
});

export class HiddenHost {
  readonly #berth: Berth;
  readonly #name: string;
  readonly #network: QuietNetwork;
  readonly #engine: NamespacedEngine;
  /** Output of earlier agents. */
  #output = '';
  #agent: Program | undefined;

  private constructor(berth: Berth, name: string, network: QuietNetwork) {
    this.#berth = berth;
    this.#name = name;
    this.#network = network;
    this.#engine = new NamespacedEngine(network.namespace, folderOf(name), cgroupOf(name));
  }

  /** Starts the engine and the agent, the only one of a Berth with BERTH_LOCAL_AGENT=off. */
  static async start(berth: Berth): Promise<HiddenHost> {
    await ensurePrograms();
    await removeLeftovers();
    const host = new HiddenHost(berth, await newName(), await QuietNetwork.make());
    try {
      await host.#network.open(Number(new URL(berth.url).port));
      await host.#engine.start();
      await host.#engine.loadImage();
      await host.startAgent();
    } catch (error) {
      await host.#remove();
      throw error;
    }
    return host;
  }

  get docker(): Docker {
    return this.#engine.docker;
  }

  get output(): string {
    return this.#output + (this.#agent?.output ?? '');
  }

  /** May be called again after `killAgent`. */
  async startAgent(): Promise<void> {
    const { url, deployment, api } = this.#berth;
    this.#output = this.output;
    // Inside, the agent and its engine have the same process ids.
    this.#agent = startCommand(
      [...this.#network.namespace.inside, process.execPath, programPath('agent/main.ts')],
      {
        env: {
          DOCKER_HOST: this.#engine.dockerHost,
          BERTH_URL: url,
          BERTH_JOIN_TOKEN: await api.joinToken(),
          BERTH_DEPLOYMENT_NAME: deployment,
          BERTH_AGENT_NAME: 'hidden',
          BERTH_DATA_DIR: folderOf(this.#name),
        },
      },
    );
    await this.#agent.waitFor(/session\.synced/, START_MS);
  }

  /** Kills the agent by SIGKILL. Its containers continue to run. */
  async killAgent(): Promise<void> {
    await this.#endAgent('SIGKILL');
  }

  /** Ends everything. Throws if containers are left. */
  async close(): Promise<void> {
    await this.#endAgent('SIGTERM');
    const left = await this.docker.listContainers({ all: true });
    await this.#remove();
    if (left.length > 0)
      throw new Error(`left on the engine: ${left.map(({ Names, State }) => `${Names[0]} (${State})`)}`);
  }

  async #endAgent(signal: NodeJS.Signals): Promise<void> {
    if (!this.#agent) return;
    process.kill(await onlyChild(this.#agent.pid), signal);
    await this.#agent.waitForEnd();
  }

  async #remove(): Promise<void> {
    await this.#network.close();
    await removeAll(this.#name);
  }
}
