/**
 * Removes networks of the deployment that no container uses, and bridges that a killed engine left in the
 * kernel. Never removes a network of another label.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type Docker from 'dockerode';
import type { ContainerInfo, NetworkInspectInfo } from 'dockerode';
import { foreignEnv, systemPath } from '../../system-programs.ts';
import { statusOf } from '../docker-error.ts';
import { label } from '../labels.ts';
import { networkDevices } from './host-routes.ts';
import { bridgePrefix, type Scope, scopeOfLabels } from './scope.ts';

const run = promisify(execFile);

export interface UnusedOptions {
  deployment: string;
  /** True if the engine's networks are on this machine. */
  local: boolean;
  /** A clock that is never set. */
  uptimeMs?: () => number;
}

/** The network devices of this machine. */
export interface Devices {
  list(): Promise<string[]>;
  removeBridge(name: string): Promise<void>;
}

/** What the engine still has. */
export interface Remaining {
  scopes: Scope[];
  /** Ids of the executions that have containers. */
  executions: ReadonlySet<number>;
}

/** A bridge exists for a moment before the engine lists its network. */
const BRIDGE_GRACE_MS = 30_000;

export class UnusedNetworks {
  readonly #devices: Devices;
  readonly #docker: Docker;
  readonly #options: UnusedOptions;
  readonly #engineId: () => Promise<string>;
  readonly #uptimeMs: () => number;
  /** Since when nothing uses them, by id of the network or name of the bridge. */
  readonly #unusedSinceMs = new Map<string, number>();

  constructor(
    docker: Docker,
    options: UnusedOptions,
    engineId: () => Promise<string>,
    devices: Devices = { list: networkDevices, removeBridge },
  ) {
    this.#devices = devices;
    this.#docker = docker;
    this.#options = options;
    this.#engineId = engineId;
    this.#uptimeMs = options.uptimeMs ?? (() => performance.now());
  }

  /** A container is about to join the network. */
  used(network: string): void {
    this.#unusedSinceMs.delete(network);
  }

  /** Calls `beforeRemoval` before it removes a network that nothing has used for `graceMs`. */
  async remove(graceMs: number, beforeRemoval: (scope: Scope) => void): Promise<Remaining> {
    const filters = { label: [`${label.deployment}=${this.#options.deployment}`] };
    const [networks, containers] = await Promise.all([
      this.#docker.listNetworks(),
      this.#docker.listContainers({ all: true, filters }),
    ]);
    // Those of the swarm are in use on other hosts (OverlayNetworks).
    const own = networks.filter(
      ({ Labels, Scope }) => Labels?.[label.deployment] === this.#options.deployment && Scope !== 'swarm',
    );
    const used = new Set(containers.flatMap(networksOf));
    const isUsed = ({ Id, Name }: NetworkInspectInfo) => used.has(Id) || used.has(Name);
    const unused = own.filter((network) => !isUsed(network)).map(({ Id }) => Id);
    const bridges = await this.#unknownBridges(networks);
    this.#note(unused, bridges);
    for (const network of own) {
      if (!this.#isDue(network.Id, graceMs)) continue;
      beforeRemoval(scopeOfLabels(network.Labels));
      await this.#removeNetwork(network.Id);
    }
    for (const bridge of bridges)
      if (this.#isDue(bridge, BRIDGE_GRACE_MS)) await this.#devices.removeBridge(bridge);
    return {
      scopes: own.filter(isUsed).map(({ Labels }) => scopeOfLabels(Labels)),
      executions: new Set(containers.map(({ Labels }) => Number(Labels[label.execution]))),
    };
  }

  #note(...unused: readonly (readonly string[])[]): void {
    const now = new Set(unused.flat());
    for (const id of this.#unusedSinceMs.keys()) if (!now.has(id)) this.#unusedSinceMs.delete(id);
    for (const id of now) this.#unusedSinceMs.set(id, this.#unusedSinceMs.get(id) ?? this.#uptimeMs());
  }

  #isDue(id: string, graceMs: number): boolean {
    const sinceMs = this.#unusedSinceMs.get(id);
    return sinceMs !== undefined && this.#uptimeMs() - sinceMs >= graceMs;
  }

  /** The engine refuses to remove a network that a container uses, even a container that is not Berth's. */
  async #removeNetwork(id: string): Promise<void> {
    try {
      await this.#docker.getNetwork(id).remove();
    } catch (error) {
      const status = statusOf(error);
      if (status !== 403 && status !== 404 && status !== 409) throw error;
    }
  }

  /** This engine's bridges without a network: the engine was killed while it created or removed one. */
  async #unknownBridges(networks: readonly NetworkInspectInfo[]): Promise<string[]> {
    if (!this.#options.local) return [];
    const prefix = bridgePrefix(await this.#engineId());
    const known = new Set(networks.map(({ Options }) => Options?.['com.docker.network.bridge.name']));
    const devices = await this.#devices.list();
    return devices.filter((name) => name.startsWith(prefix) && name.length === 15 && !known.has(name));
  }
}

/** A container that was not started yet has only the mode: the name or id of the network it will join. */
const networksOf = ({ State, HostConfig, NetworkSettings }: ContainerInfo): string[] =>
  State === 'exited' || State === 'dead'
    ? []
    : [
        HostConfig.NetworkMode,
        ...Object.values(NetworkSettings?.Networks ?? {}).map(({ NetworkID }) => NetworkID),
      ];

/** Needs the capability NET_ADMIN. Without it the bridge stays, and keeps its addresses. */
async function removeBridge(name: string): Promise<void> {
  const env = { ...foreignEnv(process.env), PATH: systemPath() };
  await run('ip', ['link', 'delete', name, 'type', 'bridge'], { env }).catch(() => {});
}
