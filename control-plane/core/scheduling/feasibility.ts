/** Feasibility: whether a gang would fit if the cluster were idle. Pure. */

import type { Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { ResourceDemand } from '../model/resources.ts';
import { adjust, type FreeCapacity } from './free-capacity.ts';
import { gangOf, type Placement } from './gang-placement.ts';
import { fits } from './host-filters.ts';

const MAX_CACHED = 10_000;

/** Answers by demand, valid for one version of the hosts (`HostIndex.version`). */
export class FeasibilityCache {
  #version = -1;
  /** Keeps no demand in memory: users could fill the memory by dry runs, whose demands nobody else has. */
  #answers = new WeakMap<ResourceDemand, boolean>();
  #count = 0;

  /**
   * Whether the essential services would fit on these hosts if the hosts were empty. `asIf`: what is assumed
   * of each host besides, always the same.
   */
  isFeasible(
    execution: Execution,
    demand: ResourceDemand,
    hosts: ReadonlyMap<number, Host>,
    version: number,
    asIf: (host: Host) => Host = (host) => host,
  ): boolean {
    if (this.#version !== version || this.#count >= MAX_CACHED) this.#clear(version);
    const known = this.#answers.get(demand);
    if (known !== undefined) return known;
    const answer = placeOnEmptyHosts(execution, [...hosts.values()].map(asIf)) !== null;
    this.#answers.set(demand, answer);
    this.#count += 1;
    return answer;
  }

  #clear(version: number): void {
    this.#version = version;
    this.#answers = new WeakMap();
    this.#count = 0;
  }
}

/** Places the essential services as if the hosts were empty, each on the first host that it fits; or null. */
export function placeOnEmptyHosts(execution: Execution, hosts: readonly Host[]): Placement[] | null {
  const emptyHosts: FreeCapacity[] = hosts.map((host) => ({
    host,
    memoryBytes: host.memoryBytes,
    cores: host.cores,
  }));
  const placements: Placement[] = [];
  for (const service of gangOf(execution)) {
    const capacity = emptyHosts.find((empty) => fits(empty, service.requirement));
    if (!capacity) return null;
    adjust(capacity, service.requirement, -1);
    placements.push({ service, host: capacity.host });
  }
  return placements;
}
