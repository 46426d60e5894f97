/** Places in a Compose file, and what the translation has to say about them. Pure. */

export type Path = readonly (string | number)[];

/** A line and a column, each from 1. */
export interface Place {
  line: number;
  column: number;
}

export interface Remark extends Place {
  /** Such as `services.web.ports[0]`; empty for the whole file. */
  path: string;
  message: string;
}

/** A Compose file that can't be translated, with every problem that was found, or the first ones. */
export class ComposeError extends Error {
  readonly problems: readonly Remark[];

  constructor(problems: readonly Remark[]) {
    super("It can't be translated.");
    this.problems = problems;
  }
}

/** The remarks as lines for people, in the order of the file. */
export const linesOf = (file: string, remarks: readonly Remark[]): string[] =>
  [...remarks]
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .map(
      ({ path, line, column, message }) =>
        `${file}:${line}:${column}: ${path === '' ? 'it' : path} ${message}`,
    );

/** Enough to correct a file, and a bound on what is written about a hostile one. */
const MAX_PROBLEMS = 100;

export class Remarks {
  /** Fields without a meaning here, with the reason. */
  readonly leftOut: Remark[] = [];
  /** What became something else than the file says, and what was decided in place of the file. */
  readonly notes: Remark[] = [];
  readonly #problems: Remark[] = [];
  readonly #placeOf: (path: Path) => Place;

  constructor(placeOf: (path: Path) => Place) {
    this.#placeOf = placeOf;
  }

  leaveOut(path: Path, reason: string): void {
    this.leftOut.push(this.#remark(path, `is left out: ${reason}`));
  }

  note(path: Path, message: string): void {
    this.notes.push(this.#remark(path, message));
  }

  problem(path: Path, message: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(this.#remark(path, message));
  }

  /** Throws if there are problems. */
  assertNone(): void {
    if (this.#problems.length > 0) throw new ComposeError(this.#problems);
  }

  #remark(path: Path, message: string): Remark {
    return { path: textOf(path), ...this.#placeOf(path), message };
  }
}

const textOf = (path: Path): string =>
  path.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`)).join('');
