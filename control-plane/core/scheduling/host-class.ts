/**
 * Host class: hosts with equal labels and size, as a search tree. Each node records the largest capacity of
 * any host beneath it, so that a search skips hosts that cannot fit or cannot win (SCHED-8). Pure.
 */
import type { Host } from '../model/host.ts';
import type { Requirement, Resources } from '../model/resources.ts';
import type { PlacementPolicy } from '../model/scheduler-config.ts';
import { EPSILON, type FreeCapacity, freeCapacityOf } from './free-capacity.ts';
import { fits, isUsable, withoutSecretFiles } from './host-filters.ts';
import { placementScores } from './placement-policy.ts';

/** A host in its class. */
export class IndexedHost {
  readonly hostClass: HostClass;
  /** Free capacity, including assumed changes. */
  readonly free: FreeCapacity;
  position = 0;
  /** By the placement policy; the lowest wins. */
  score = 0;
  /** Free capacity plus what elastic services hold; negative infinity if the host is not usable. */
  preemptibleBytes = Number.NEGATIVE_INFINITY;
  preemptibleCores = Number.NEGATIVE_INFINITY;
  #freeBytes = Number.NEGATIVE_INFINITY;
  #freeCores = Number.NEGATIVE_INFINITY;
  /** As of the insertion into the class. */
  readonly #labels: readonly string[];
  readonly #memoryBytes: number;
  readonly #cores: number;
  readonly #mountsFiles: boolean;

  constructor(host: Host, hostClass: HostClass) {
    this.hostClass = hostClass;
    this.free = freeCapacityOf(host);
    this.#labels = host.labels;
    this.#memoryBytes = host.memoryBytes;
    this.#cores = host.cores;
    this.#mountsFiles = mountsFiles(host);
  }

  /** Whether the host was usable at the last update. */
  get isUsable(): boolean {
    return this.#freeBytes !== Number.NEGATIVE_INFINITY;
  }

  matches(host: Host): boolean {
    const { labels, memoryBytes, cores } = host;
    const isSameSize = this.#memoryBytes === memoryBytes && this.#cores === cores;
    return isSameSize && this.#labels === labels && this.#mountsFiles === mountsFiles(host);
  }

  /** Reads the host and discards assumed changes. True if its free or preemptible capacity has grown. */
  update(): boolean {
    const { host } = this.free;
    const base = isUsable(host) ? 0 : Number.NEGATIVE_INFINITY;
    const freeBytes = base + host.memoryBytes - host.reservedMemoryBytes - host.backfillReservedMemoryBytes;
    const freeCores = base + host.cores - host.reservedCores - host.backfillReservedCores;
    const preemptibleBytes = freeBytes + host.elasticMemoryBytes;
    const preemptibleCores = freeCores + host.elasticCores;
    const grew =
      freeBytes > this.#freeBytes ||
      preemptibleBytes > this.preemptibleBytes ||
      freeCores > this.#freeCores + EPSILON ||
      preemptibleCores > this.preemptibleCores + EPSILON;
    const { free } = this;
    const same = preemptibleBytes === this.preemptibleBytes && preemptibleCores === this.preemptibleCores;
    if (same && free.memoryBytes === freeBytes && free.cores === freeCores) return false;
    free.memoryBytes = this.#freeBytes = freeBytes;
    free.cores = this.#freeCores = freeCores;
    this.preemptibleBytes = preemptibleBytes;
    this.preemptibleCores = preemptibleCores;
    this.hostClass.refresh(this);
    return grew;
  }
}

const mountsFiles = (host: Host): boolean => withoutSecretFiles(host) === undefined;

/** The fields of a node: maxima over the hosts beneath it, and the minimum of their scores. */
const [BYTES, CORES, PREEMPTIBLE_BYTES, PREEMPTIBLE_CORES, SCORE, FIELDS] = [0, 1, 2, 3, 4, 5];

export class HostClass {
  readonly key: string;
  readonly labels: readonly string[];
  readonly #scoreOf: (free: FreeCapacity) => number;
  /** In ascending order of host id. */
  #hosts: IndexedHost[] = [];
  /**
   * Number of leaves of the tree. Node 1 is the root, the children of n are 2n and 2n+1, with FIELDS numbers
   * each.
   */
  #width = 1;
  #nodes = emptyNodes(1);
  #best = -1;

  constructor(key: string, labels: readonly string[], policy: PlacementPolicy) {
    this.key = key;
    this.labels = labels;
    this.#scoreOf = placementScores[policy];
  }

  get size(): number {
    return this.#hosts.length;
  }

  add(indexed: IndexedHost): void {
    const last = this.#hosts.at(-1);
    indexed.position = this.#hosts.push(indexed) - 1;
    if (this.#hosts.length <= this.#width && (!last || idOf(last) < idOf(indexed))) this.refresh(indexed);
    else this.#build();
  }

  remove(indexed: IndexedHost): void {
    this.#hosts.splice(indexed.position, 1);
    this.#build();
  }

  /** Updates the tree after a change of a host's free capacity. */
  refresh(indexed: IndexedHost): void {
    const { free } = indexed;
    indexed.score =
      free.memoryBytes !== Number.NEGATIVE_INFINITY ? this.#scoreOf(free) : Number.POSITIVE_INFINITY;
    const leaf = (this.#width + indexed.position) * FIELDS;
    const nodes = this.#nodes;
    nodes[leaf + BYTES] = free.memoryBytes;
    nodes[leaf + CORES] = free.cores;
    nodes[leaf + PREEMPTIBLE_BYTES] = indexed.preemptibleBytes;
    nodes[leaf + PREEMPTIBLE_CORES] = indexed.preemptibleCores;
    nodes[leaf + SCORE] = indexed.score;
    for (let node = (this.#width + indexed.position) >> 1; node >= 1; node >>= 1) this.#join(node);
  }

  /** The fitting host with the lowest score, at position `from` or later; of equals the first. */
  search(requirement: Requirement, from = 0): IndexedHost | undefined {
    this.#best = -1;
    this.#descend(1, 0, this.#width, requirement, from);
    return this.#hosts[this.#best];
  }

  /** All hosts that fit if the capacity of their elastic services counts as free. */
  preemptible({ memoryBytes, cores }: Resources): IndexedHost[] {
    const nodes = this.#nodes;
    const found: IndexedHost[] = [];
    const visit = (node: number) => {
      const at = node * FIELDS;
      if ((nodes[at + PREEMPTIBLE_BYTES] ?? 0) < memoryBytes) return;
      if ((nodes[at + PREEMPTIBLE_CORES] ?? 0) + EPSILON < cores) return;
      const indexed = node < this.#width ? undefined : this.#hosts[node - this.#width];
      if (indexed) found.push(indexed);
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
    const score = nodes[at + SCORE] ?? 0;
    const best = this.#hosts[this.#best];
    if (best && (score > best.score || (score === best.score && first > best.position))) return;
    if (width === 1) {
      const indexed = this.#hosts[first];
      if (indexed && fits(indexed.free, requirement)) this.#best = first;
      return;
    }
    const half = width / 2;
    const [left, right] = [2 * node, 2 * node + 1];
    const leftFirst = (nodes[left * FIELDS + SCORE] ?? 0) <= (nodes[right * FIELDS + SCORE] ?? 0);
    if (leftFirst) this.#descend(left, first, half, requirement, from);
    this.#descend(right, first + half, half, requirement, from);
    if (!leftFirst) this.#descend(left, first, half, requirement, from);
  }

  #build(): void {
    this.#hosts.sort((a, b) => idOf(a) - idOf(b));
    while (this.#width < this.#hosts.length) this.#width *= 2;
    this.#nodes = emptyNodes(this.#width);
    for (const [at, indexed] of this.#hosts.entries()) {
      indexed.position = at;
      this.refresh(indexed);
    }
  }

  #join(node: number): void {
    const nodes = this.#nodes;
    const [at, left, right] = [node * FIELDS, 2 * node * FIELDS, (2 * node + 1) * FIELDS];
    for (let field = BYTES; field < SCORE; field++)
      nodes[at + field] = Math.max(nodes[left + field] ?? 0, nodes[right + field] ?? 0);
    nodes[at + SCORE] = Math.min(nodes[left + SCORE] ?? 0, nodes[right + SCORE] ?? 0);
  }
}

const idOf = ({ free }: IndexedHost): number => free.host.id;

function emptyNodes(width: number): Float64Array {
  const nodes = new Float64Array(2 * width * FIELDS).fill(Number.NEGATIVE_INFINITY);
  for (let node = 0; node < 2 * width; node++) nodes[node * FIELDS + SCORE] = Number.POSITIVE_INFINITY;
  return nodes;
}
