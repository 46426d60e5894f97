/** Resource demand: what a start requires, in a form that takes little memory (SCHED-15). Pure. */
import type { Application } from '../../../shared/application-schema.ts';
import { addUsage, noUsage } from '../accounts/quota.ts';
import {
  type Need,
  type Requirement,
  type Requirements,
  type ResourceDemand,
  type Resources,
  requirementsOf,
  type Usage,
} from '../model/resources.ts';
import type { Service } from '../model/service.ts';

/** How many numbers each need has in `Demand.numbers`. */
const FIELDS = 4;
/**
 * The first one is the count, below this. In units of this it is 1 for secret files, and twice the weight
 * beyond 1: two numbers less.
 */
const COUNTS = 2 ** 20;
/** In `Demand.numbers`: the default memory limit. The setting may change, so its value is not there. */
const DEFAULT_LIMIT = -1;

/** What V8 takes for a number or a reference in a list, and beside the content of a list and of a text. */
const [NUMBER_BYTES, LIST_BYTES, TEXT_BYTES] = [8, 48, 24];

/** The labels of each need. */
export type LabelLists = readonly (readonly string[])[];

/** Needs and usage are computed at each call: many demands wait, and few are examined at a time. */
export class Demand implements ResourceDemand {
  /** Count with weight, reserved bytes, cores and memory limit of each need, one need after the other. */
  readonly numbers: readonly number[];
  /** Null if no need has labels. */
  readonly labels: LabelLists | null;
  /** How many executions the start adds to the user's usage. */
  readonly executions: number;

  constructor(numbers: readonly number[], labels: LabelLists | null, executions: number) {
    this.numbers = numbers;
    this.labels = labels;
    this.executions = executions;
  }

  get needs(): Need[] {
    const needs: Need[] = [];
    for (let at = 0; at < this.numbers.length; at += FIELDS) {
      const labels = this.labels?.[at / FIELDS] ?? NO_LABELS;
      needs.push({
        memoryBytes: this.#memoryBytes(at),
        limitBytes: this.#limitBytes(at),
        cores: this.#cores(at),
        labels,
        weight: this.#weight(at),
        ...(this.#secretFiles(at) && { secretFiles: true }),
        count: this.#count(at),
      });
    }
    return needs;
  }

  usage(defaultMemoryBytes: number): Usage {
    const usage = { executions: this.executions, memoryBytes: 0, microCores: 0 };
    for (let at = 0; at < this.numbers.length; at += FIELDS) {
      const need = { limitBytes: this.#limitBytes(at), cores: this.#cores(at) };
      addUsage(usage, need, defaultMemoryBytes, 1, this.#count(at));
    }
    return usage;
  }

  get reserved(): Resources {
    const reserved = { memoryBytes: 0, cores: 0 };
    for (let at = 0; at < this.numbers.length; at += FIELDS) {
      reserved.memoryBytes += this.#memoryBytes(at) * this.#count(at);
      reserved.cores += this.#cores(at) * this.#count(at);
    }
    return reserved;
  }

  get weight(): number {
    let weight = 0;
    for (let at = 0; at < this.numbers.length; at += FIELDS) weight += this.#weight(at) * this.#count(at);
    return weight;
  }

  get heapBytes(): number {
    const lists = new Set(this.labels);
    let bytes = this.numbers.length * NUMBER_BYTES;
    for (const list of lists) bytes += LIST_BYTES + list.length * NUMBER_BYTES;
    for (const text of new Set([...lists].flat())) bytes += TEXT_BYTES + 2 * text.length;
    return bytes;
  }

  /** No need has less memory, or less cores, than these. */
  get least(): Resources {
    const least = { memoryBytes: Number.POSITIVE_INFINITY, cores: Number.POSITIVE_INFINITY };
    for (let at = 0; at < this.numbers.length; at += FIELDS) {
      least.memoryBytes = Math.min(least.memoryBytes, this.#memoryBytes(at));
      least.cores = Math.min(least.cores, this.#cores(at));
    }
    return least;
  }

  #count(at: number): number {
    return (this.numbers[at] ?? 0) % COUNTS;
  }

  #limitBytes(at: number): number | null {
    const limit = this.numbers[at + 3] ?? DEFAULT_LIMIT;
    return limit === DEFAULT_LIMIT ? null : limit;
  }

  #weight(at: number): number {
    return 1 + Math.floor((this.numbers[at] ?? 0) / (2 * COUNTS));
  }

  #secretFiles(at: number): boolean {
    return Math.floor((this.numbers[at] ?? 0) / COUNTS) % 2 === 1;
  }

  #memoryBytes(at: number): number {
    return this.numbers[at + 1] ?? 0;
  }

  #cores(at: number): number {
    return this.numbers[at + 2] ?? 0;
  }
}

const NO_LABELS: readonly never[] = [];

/** The demand of an execution's start: what its essential services require. */
export const gangDemandOf = (
  { services }: Pick<Application, 'services'>,
  requirements: Requirements = requirementsOf(services),
): Demand =>
  demandOfNeeds(
    [...requirements]
      .filter(([{ essential_count }]) => essential_count > 0)
      .map(([{ essential_count }, requirement]) => ({ ...requirement, count: essential_count })),
    1,
  );

/** `executions` is how many executions the start adds to the user's usage. */
export const demandOf = (services: readonly Pick<Service, 'requirement'>[], executions: number): Demand =>
  demandOfNeeds(
    services.map(({ requirement }) => ({ ...requirement, count: 1 })),
    executions,
  );

/** The demand as text, which the store keeps. */
export const demandText = ({ needs }: ResourceDemand): string =>
  JSON.stringify(
    needs.map((need): NeedText => [need.count, need.memoryBytes, need.cores, ...furtherOf(need)]),
  );

/**
 * One need in the text of a demand. The memory limit, a weight of more than 1, the labels, and `true` for
 * secret files come last.
 */
type NeedText = [count: number, memoryBytes: number, cores: number, ...further: (number | string | true)[]];

const furtherOf = ({ limitBytes, weight, labels, secretFiles }: Requirement): (number | string | true)[] => {
  const last = [...labels, ...(secretFiles ? [true as const] : [])];
  if (weight > 1) return [limitBytes ?? DEFAULT_LIMIT, weight, ...last];
  return limitBytes === null ? last : [limitBytes, ...last];
};

/** The demand of an execution's start, from its text. */
export function demandFromText(text: string): Demand {
  const needs = (JSON.parse(text) as NeedText[]).map(([count, memoryBytes, cores, ...rest]): Need => {
    const labels = rest.filter((one) => typeof one === 'string');
    const [limit = DEFAULT_LIMIT, weight = 1] = rest.filter((one) => typeof one === 'number');
    const limitBytes = limit === DEFAULT_LIMIT ? null : limit;
    const secretFiles = rest.includes(true) && { secretFiles: true };
    return { memoryBytes, limitBytes, cores, labels, weight, ...secretFiles, count };
  });
  return demandOfNeeds(needs, 1);
}

/** Equal for equal requirements. */
export const requirementKey = (requirement: Requirement): string =>
  JSON.stringify([requirement.memoryBytes, requirement.cores, ...furtherOf(requirement)]);

function demandOfNeeds(all: readonly Need[], executions: number): Demand {
  const needs = all.length === 1 ? all : distinct(all);
  const numbers: number[] = [];
  for (const { count, memoryBytes, cores, limitBytes, weight, secretFiles } of needs) {
    const first = count + (2 * (weight - 1) + Number(secretFiles ?? false)) * COUNTS;
    numbers.push(first, memoryBytes, cores, limitBytes ?? DEFAULT_LIMIT);
  }
  const hasLabels = needs.some(({ labels }) => labels.length > 0);
  // A copy has no spare capacity.
  return new Demand(numbers.slice(), hasLabels ? labelListsOf(needs) : null, executions);
}

/** Equal lists are one object, and equal labels one text: parsers make each of them anew. */
function labelListsOf(needs: readonly Need[]): LabelLists {
  const texts = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  return needs.map(({ labels }) => {
    const key = JSON.stringify(labels);
    const list = lists.get(key) ?? labels.map((label) => onlyOne(texts, label));
    lists.set(key, list);
    return list;
  });
}

function onlyOne(texts: Map<string, string>, text: string): string {
  const known = texts.get(text) ?? text;
  texts.set(text, known);
  return known;
}

function distinct(all: readonly Need[]): Need[] {
  const byKey = new Map<string, Need>();
  for (const need of all) {
    const key = requirementKey(need);
    byKey.set(key, { ...need, count: need.count + (byKey.get(key)?.count ?? 0) });
  }
  return Array.from(byKey)
    .sort(([aKey, a], [bKey, b]) => compareRequirements(b, a) || (aKey < bKey ? -1 : 1))
    .map(([, need]) => need);
}

/** Orders by how hard a requirement is to fit. */
export const compareRequirements = (a: Requirement, b: Requirement): number =>
  a.memoryBytes - b.memoryBytes || a.cores - b.cores;

/** Any order in which only equal demands are equal, by which they can be found. */
export const compareDemands = (a: Demand, b: Demand): number =>
  a.executions - b.executions ||
  compareLists(a.numbers, b.numbers, compareNumbers) ||
  compareLabels(a.labels ?? NO_LABELS, b.labels ?? NO_LABELS);

export const compareLabels = (a: LabelLists, b: LabelLists): number =>
  a === b ? 0 : compareLists(a, b, compareTextLists);

const compareTextLists = (a: readonly string[], b: readonly string[]): number =>
  compareLists(a, b, compareTexts);

const compareNumbers = (a: number, b: number): number => a - b;
const compareTexts = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

function compareLists<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let at = 0; at < a.length; at++) {
    const order = compare(a[at] as T, b[at] as T);
    if (order !== 0) return order;
  }
  return 0;
}

/** What all instances of an application count under the quota, elastic ones too. */
export function usageOfAll(requirements: Requirements, defaultMemoryBytes: number): Usage {
  const usage = noUsage();
  for (const [{ total_count }, requirement] of requirements)
    addUsage(usage, requirement, defaultMemoryBytes, 1, total_count);
  return usage;
}
