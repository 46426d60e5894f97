/**
 * Work in steps: a generator that pauses after each piece of work, so that its driver may let others run.
 * Each pause yields how much work the piece was, about one unit for each entry of a list.
 */
export type Steps<T> = Generator<number, T>;

/** Units after which others should run: some milliseconds at most. */
export const TURN_UNITS = 2_000;

/** Does all the work at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
