/**
 * Owns a row of hosts with the same labels and size, as a tree: each node knows the most that any host beneath it has
 * left, so that a search passes over what can't fit or can't win. Pure.
 */
import type { Host } from '../model/host.ts';
import type { SchedulingPolicy } from '../model/scheduler-config.ts';
import type { Requirement } from '../model/service.ts';
import { EPSILON, fits, isUsable, type Room, roomOf, shareLeft } from './free-capacity.ts';

/** A host on its shelf. */
export class Spot {
  readonly shelf: Shelf;
  /** What is left, with what is only supposed. */
  readonly room: Room;
  at = 0;
  /** Lowest first: the order in which the policy takes hosts that fit. */
  rank = 0;
  /** What is left with what elastic services have; nothing, where the host takes no services. */
  reclaimableBytes = Number.NEGATIVE_INFINITY;
  reclaimableCores = Number.NEGATIVE_INFINITY;
  #leftBytes = Number.NEGATIVE_INFINITY;
  #leftCores = Number.NEGATIVE_INFINITY;
  /** As the host was when it was put here. */
  readonly #labels: readonly string[];
  readonly #memoryBytes: number;
  readonly #cores: number;

  constructor(host: Host, shelf: Shelf) {
    this.shelf = shelf;
    this.room = roomOf(host);
    this.#labels = host.labels;
    this.#memoryBytes = host.memoryBytes;
    this.#cores = host.cores;
  }

  /** Whether it took services at the last update. */
  get isUsable(): boolean {
    return this.#leftBytes !== Number.NEGATIVE_INFINITY;
  }

  isAbout({ labels, memoryBytes, cores }: Host): boolean {
    return this.#labels === labels && this.#memoryBytes === memoryBytes && this.#cores === cores;
  }

  /** Follows the host, forgetting what was supposed; true where there is more for the taking, by reclaiming or without. */
  update(): boolean {
    const { host } = this.room;
    const nothing = isUsable(host) ? 0 : Number.NEGATIVE_INFINITY;
    const leftBytes = nothing + host.memoryBytes - host.reservedMemoryBytes - host.keptMemoryBytes;
    const leftCores = nothing + host.cores - host.reservedCores - host.keptCores;
    const bytes = leftBytes + host.elasticMemoryBytes;
    const cores = leftCores + host.elasticCores;
    const grew =
      leftBytes > this.#leftBytes ||
      bytes > this.reclaimableBytes ||
      leftCores > this.#leftCores + EPSILON ||
      cores > this.reclaimableCores + EPSILON;
    const { room } = this;
    const same = bytes === this.reclaimableBytes && cores === this.reclaimableCores;
    if (same && room.memoryBytes === leftBytes && room.cores === leftCores) return false;
    room.memoryBytes = this.#leftBytes = leftBytes;
    room.cores = this.#leftCores = leftCores;
    this.reclaimableBytes = bytes;
    this.reclaimableCores = cores;
    this.shelf.put(this);
    return grew;
  }
}

/** What a node knows of the hosts beneath it: the most of each but the rank, and the lowest of that. */
const [BYTES, CORES, RECLAIMABLE_BYTES, RECLAIMABLE_CORES, RANK, FIELDS] = [0, 1, 2, 3, 4, 5];

export class Shelf {
  readonly key: string;
  readonly labels: readonly string[];
  readonly #placement: SchedulingPolicy['placement'];
  /** By id of the host. */
  #spots: Spot[] = [];
  /** Leaves of the tree. Node 1 is the root, the children of n are 2n and 2n+1, FIELDS numbers each. */
  #width = 1;
  #nodes = emptyNodes(1);
  #best = -1;

  constructor(key: string, labels: readonly string[], placement: SchedulingPolicy['placement']) {
    this.key = key;
    this.labels = labels;
    this.#placement = placement;
  }

  get size(): number {
    return this.#spots.length;
  }

  add(spot: Spot): void {
    const last = this.#spots.at(-1);
    spot.at = this.#spots.push(spot) - 1;
    if (this.#spots.length <= this.#width && (!last || idOf(last) < idOf(spot))) this.put(spot);
    else this.#build();
  }

  remove(spot: Spot): void {
    this.#spots.splice(spot.at, 1);
    this.#build();
  }

  /** Takes in what is left of a host now. */
  put(spot: Spot): void {
    const { room } = spot;
    spot.rank = rankOf(room, this.#placement);
    const leaf = (this.#width + spot.at) * FIELDS;
    const nodes = this.#nodes;
    nodes[leaf + BYTES] = room.memoryBytes;
    nodes[leaf + CORES] = room.cores;
    nodes[leaf + RECLAIMABLE_BYTES] = spot.reclaimableBytes;
    nodes[leaf + RECLAIMABLE_CORES] = spot.reclaimableCores;
    nodes[leaf + RANK] = spot.rank;
    for (let node = (this.#width + spot.at) >> 1; node >= 1; node >>= 1) this.#join(node);
  }

  /** The host of the lowest rank that has room, from position `from` on; of equals the first. */
  search(requirement: Requirement, from = 0): Spot | undefined {
    this.#best = -1;
    this.#descend(1, 0, this.#width, requirement, from);
    return this.#spots[this.#best];
  }

  /** All that have room if what elastic services hold counts as free. */
  reclaimable({ memoryBytes, cores }: Requirement): Spot[] {
    const nodes = this.#nodes;
    const found: Spot[] = [];
    const visit = (node: number) => {
      const at = node * FIELDS;
      if ((nodes[at + RECLAIMABLE_BYTES] ?? 0) < memoryBytes) return;
      if ((nodes[at + RECLAIMABLE_CORES] ?? 0) + EPSILON < cores) return;
      const spot = node < this.#width ? undefined : this.#spots[node - this.#width];
      if (spot) found.push(spot);
      if (node >= this.#width) return;
      visit(2 * node);
      visit(2 * node + 1);
    };
    visit(1);
    return found;
  }

  #descend(node: number, first: number, width: number, requirement: Requirement, from: number): void {
    const nodes = this.#nodes;
    const at = node * FIELDS;
    if (first + width <= from) return;
    if ((nodes[at + BYTES] ?? 0) < requirement.memoryBytes) return;
    if ((nodes[at + CORES] ?? 0) + EPSILON < requirement.cores) return;
    const rank = nodes[at + RANK] ?? 0;
    const best = this.#spots[this.#best];
    if (best && (rank > best.rank || (rank === best.rank && first > best.at))) return;
    if (width === 1) {
      const spot = this.#spots[first];
      if (spot && fits(spot.room, requirement)) this.#best = first;
      return;
    }
    const half = width / 2;
    const [left, right] = [2 * node, 2 * node + 1];
    const leftFirst = (nodes[left * FIELDS + RANK] ?? 0) <= (nodes[right * FIELDS + RANK] ?? 0);
    if (leftFirst) this.#descend(left, first, half, requirement, from);
    this.#descend(right, first + half, half, requirement, from);
    if (!leftFirst) this.#descend(left, first, half, requirement, from);
  }

  #build(): void {
    this.#spots.sort((a, b) => idOf(a) - idOf(b));
    while (this.#width < this.#spots.length) this.#width *= 2;
    this.#nodes = emptyNodes(this.#width);
    for (const [at, spot] of this.#spots.entries()) {
      spot.at = at;
      this.put(spot);
    }
  }

  #join(node: number): void {
    const nodes = this.#nodes;
    const [at, left, right] = [node * FIELDS, 2 * node * FIELDS, (2 * node + 1) * FIELDS];
    for (let field = BYTES; field < RANK; field++)
      nodes[at + field] = Math.max(nodes[left + field] ?? 0, nodes[right + field] ?? 0);
    nodes[at + RANK] = Math.min(nodes[left + RANK] ?? 0, nodes[right + RANK] ?? 0);
  }
}

const idOf = ({ room }: Spot): number => room.host.id;

function emptyNodes(width: number): Float64Array {
  const nodes = new Float64Array(2 * width * FIELDS).fill(Number.NEGATIVE_INFINITY);
  for (let node = 0; node < 2 * width; node++) nodes[node * FIELDS + RANK] = Number.POSITIVE_INFINITY;
  return nodes;
}

/** `average` takes the host with most of itself left, `waterfill` the fullest. */
function rankOf(room: Room, placement: SchedulingPolicy['placement']): number {
  if (room.memoryBytes === Number.NEGATIVE_INFINITY) return Number.POSITIVE_INFINITY;
  if (placement === 'random') return 0;
  return placement === 'average' ? -shareLeft(room) : shareLeft(room);
}
