/** How a command ends when its exit code says more than whether it has failed. */
export class Exit extends Error {
  readonly code: number;

  /** `message`: words for standard error; empty if there are none. */
  constructor(code: number, message = '') {
    super(message);
    this.code = code;
  }
}

/** An error with several problems, each on a line of its own. */
export class ProblemsError extends Error {
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[]) {
    super(message);
    this.problems = problems;
  }
}

/** Berth's own errors, apart from the exit codes of what it runs. */
export const FAILED = 125;
export const TIMED_OUT = 124;
export const INTERRUPTED = 130;
