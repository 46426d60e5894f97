/** The pool from which a swarm's overlay networks take their addresses, and the size of Berth's. Pure. */
import { parseSubnet, type Subnet } from './subnets.ts';

/** What the engine of a manager reports about its swarm. Engines before 18.09 have no pool. */
export interface SwarmCluster {
  DefaultAddrPool?: string[] | null;
  SubnetSize?: number;
}

export interface OverlayPool {
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
