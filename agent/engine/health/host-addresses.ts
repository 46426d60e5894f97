/**
 * The addresses at which a host reaches its containers. Those of an overlay network are reached from
 * containers only. The engine connects such a container to a bridge of the host as well, for its way out.
 */
import type Docker from 'dockerode';
import type { Target } from './target.ts';

/** The bridge of an engine in a swarm, by its fixed name. */
const GATEWAY_BRIDGE = 'docker_gwbridge';
const MAX_NETWORKS = 1_000;

export class HostAddresses {
  readonly #docker: Docker;
  /** Whether a network is an overlay, by its id. */
  readonly #overlays = new Map<string, boolean>();
  /** Addresses on the bridge, by container. */
  readonly #onBridge = new Map<string, string>();

  constructor(docker: Docker) {
    this.#docker = docker;
  }

  /** Null if the host does not reach the container. Rejects if the engine does not tell. */
  async of({ id, address, network }: Target): Promise<string | null> {
    if (network === '' || !(await this.#isOverlay(network))) return address;
    const known = this.#onBridge.get(id) ?? (await this.#findOnBridge(id));
    if (known) this.#onBridge.set(id, known);
    return known ?? null;
  }

  forget(id: string): void {
    this.#onBridge.delete(id);
  }

  async #isOverlay(network: string): Promise<boolean> {
    const known = this.#overlays.get(network);
    if (known !== undefined) return known;
    const { Driver } = await this.#docker.getNetwork(network).inspect();
    if (this.#overlays.size >= MAX_NETWORKS) this.#overlays.clear();
    this.#overlays.set(network, Driver === 'overlay');
    return Driver === 'overlay';
  }

  /** Undefined also for a container of internal networks, which has no way out. */
  async #findOnBridge(id: string): Promise<string | undefined> {
    const { Containers = {} } = await this.#docker.getNetwork(GATEWAY_BRIDGE).inspect();
    return Containers[id]?.IPv4Address?.split('/')[0];
  }
}
