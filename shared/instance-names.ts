/**
 * Names of instances, `<group><counter>`, without making them: groups of an application may have 1,000
 * instances each, and an invalid one even more in all. Names are compared without case, as DNS does. Pure.
 */
import { MAX_INSTANCES } from './application-schema.ts';

interface Group {
  name: string;
  count: number;
  /** Index of its service. */
  at: number;
}

/** Digits of the highest counter. */
const MAX_DIGITS = String(MAX_INSTANCES - 1).length;

export class InstanceNames {
  /** By their names in lower case. */
  readonly #groups = new Map<string, Group>();
  /**
   * By the beginning of a group's name in lower case: the lowest counter that the digits at the end of a name
   * make.
   */
  readonly #extensions = new Map<string, { counter: number; at: number }>();

  add(name: string, count: number, at: number): void {
    const folded = name.toLowerCase();
    this.#groups.set(folded, { name, count, at });
    // What its first instance is called, if the digits at the end of its name belong to the counter.
    const first = `${folded}0`;
    for (let start = folded.length - 1; isCounter(first, start); start--) {
      const [prefix, counter] = [first.slice(0, start), Number(first.slice(start))];
      const known = this.#extensions.get(prefix);
      if (!hasLeadingZero(first, start) && (!known || counter < known.counter))
        this.#extensions.set(prefix, { counter, at });
    }
  }

  /** Whether there is an instance of exactly this name. */
  has(name: string): boolean {
    const group = this.#groupOf(name);
    return group !== undefined && name.startsWith(group.name);
  }

  /** The group that has an instance of this name. */
  #groupOf(name: string): Group | undefined {
    for (let start = name.length - 1; isCounter(name, start); start--) {
      const group = this.#groups.get(name.slice(0, start).toLowerCase());
      if (group && hasCounter(name, start, group.count)) return group;
    }
    return undefined;
  }

  /**
   * The first instance of a further group whose name an instance already has, and the service of the latter.
   * `web` with 11 instances and `web1` share `web10`.
   */
  collisionOf(group: string, count: number): { instance: string; owner: number } | undefined {
    const owner = this.#groupOf(`${group}0`);
    if (owner) return { instance: `${group}0`, owner: owner.at };
    const extension = this.#extensions.get(group.toLowerCase());
    if (!extension || extension.counter >= count) return undefined;
    return { instance: `${group}${extension.counter}`, owner: extension.at };
  }
}

/** Whether the name may end with a counter that begins at `start`, or a digit before it. */
function isCounter(name: string, start: number): boolean {
  if (start < 1 || start < name.length - MAX_DIGITS) return false;
  const code = name.charCodeAt(start);
  return code >= 0x30 && code <= 0x39;
}

const hasLeadingZero = (name: string, start: number): boolean =>
  name.charAt(start) === '0' && start < name.length - 1;

const hasCounter = (name: string, start: number, count: number): boolean =>
  !hasLeadingZero(name, start) && Number(name.slice(start)) < count;
