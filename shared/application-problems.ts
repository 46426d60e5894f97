/** Problems of an application description: where each is, and how many are reported at most. Pure. */
import type * as z from 'zod';

/** One problem of a description. `pointer` is an RFC 6901 pointer; '' is the whole document. */
export interface Problem {
  pointer: string;
  message: string;
}

/** Enough to correct a description, and a bound on the answer to a hostile one. */
export const MAX_PROBLEMS = 100;
/** Characters of a key or name that are shown; callers choose them, and may choose a megabyte. */
const MAX_SHOWN = 128;

/** The first problems of a description, and the number of others that were found. */
export class Findings {
  readonly problems: Problem[] = [];
  more = 0;

  /** True once a problem could not be kept: what is found from now on is only counted. */
  get isFull(): boolean {
    return this.more > 0;
  }

  /** How many problems to look for at most: one more than can be kept. */
  get room(): number {
    return MAX_PROBLEMS - this.problems.length + 1;
  }

  add(path: readonly PropertyKey[], message: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ pointer: pointerTo(path), message });
    else this.more += 1;
  }

  /** `base` is the path of the value to which the issues belong. */
  addIssues(base: readonly PropertyKey[], issues: readonly z.core.$ZodIssue[]): void {
    for (const issue of issues) {
      const path = [...base, ...issue.path];
      if (issue.code === 'unrecognized_keys') this.addUnknownKeys(path, issue.keys);
      else this.add(path, issue.message);
    }
  }

  addUnknownKeys(base: readonly PropertyKey[], keys: readonly string[]): void {
    const { room } = this;
    for (const key of keys.slice(0, room)) this.add([...base, key], 'is not a known key');
    this.more += Math.max(0, keys.length - room);
  }
}

export const pointerTo = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${shown(String(part)).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** `text`, or its beginning. */
export const shown = (text: string): string =>
  text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}...` : text;
