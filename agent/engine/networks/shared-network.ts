/**
 * The shared network: an existing network that the agent's settings name for the deployment, usually an
 * attachable overlay of a swarm. Never created or removed by the agent (CONT-24).
 */
import type Docker from 'dockerode';
import type { NetworkInspectInfo } from 'dockerode';
import { engineError, networkMessages, statusOf, wrapErrors } from '../docker-error.ts';
import { EngineError } from '../engine.ts';

interface SwarmInfo {
  LocalNodeState: string;
  /** True on a swarm manager, which sees all networks of the swarm. */
  ControlAvailable: boolean;
}

export class SharedNetwork {
  readonly #docker: Docker;
  readonly #name: string;

  constructor(docker: Docker, name: string) {
    this.#docker = docker;
    this.#name = name;
  }

  /**
   * Returns the name by which containers join: a swarm worker does not see the network until one of its
   * containers joins it.
   */
  async join(): Promise<string> {
    const problem = await this.problem();
    // An administrator can repair the network, so the execution need not end (CONT-25).
    if (problem !== undefined) throw new EngineError('temporary', problem);
    return this.#name;
  }

  /** Why no container can join the network, with the remedy. Undefined if this engine reports no problem. */
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
