/**
 * Owns the use of a network that the agent's settings name for the deployment instead of one of its own: an attachable
 * overlay of a swarm, as a rule. Never makes or removes it.
 */
import type Docker from 'dockerode';
import type { NetworkInspectInfo } from 'dockerode';
import { EngineError } from '../engine.ts';
import { engineError, networkMessages, statusOf, wrapErrors } from './docker-error.ts';
import { DeploymentNetwork, type ServiceNetwork } from './network.ts';

interface SwarmInfo {
  LocalNodeState: string;
  /** This engine is a manager, and knows all networks of the swarm. */
  ControlAvailable: boolean;
}

/** The network of services as the settings have it. */
export const networkOf = (
  docker: Docker,
  { deployment, network }: { deployment: string; network: string | null },
  engineId: () => Promise<string>,
): ServiceNetwork =>
  network === null ? new DeploymentNetwork(docker, deployment, engineId) : new SharedNetwork(docker, network);

class SharedNetwork implements ServiceNetwork {
  readonly #docker: Docker;
  readonly #name: string;

  constructor(docker: Docker, name: string) {
    this.#docker = docker;
    this.#name = name;
  }

  /** Its name: before a container of this host has joined it, an engine that manages no swarm knows no more of it. */
  async id(): Promise<string> {
    const problem = await this.problem();
    // Whoever runs the hosts can mend it; the execution need not end.
    if (problem !== undefined) throw new EngineError('temporary', problem);
    return this.#name;
  }

  forget(): void {}

  async removeUnused(): Promise<void> {}

  async problem(): Promise<string | undefined> {
    const network = await this.#find();
    if (network) {
      const isClosed = network.Scope === 'swarm' && !network.Attachable;
      return isClosed ? networkMessages.closed(this.#name) : undefined;
    }
    const { Swarm } = (await wrapErrors(this.#docker.info())) as { Swarm?: SwarmInfo };
    if (Swarm?.LocalNodeState !== 'active') return networkMessages.noSwarm(this.#name);
    return Swarm.ControlAvailable ? networkMessages.missing(this.#name) : undefined;
  }

  async #find(): Promise<NetworkInspectInfo | undefined> {
    try {
      return await this.#docker.getNetwork(this.#name).inspect();
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw engineError(error);
    }
  }
}
