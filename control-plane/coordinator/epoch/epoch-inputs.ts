/** Inputs of a turn that confirm with the database that no later coordinator has taken over. */
import { OperationError } from '../../core/model/errors.ts';
import type { Input } from '../turn-inputs.ts';

/** Fails its turn unless the database confirms that the epoch is the latest. */
export const epochCheck: Input = {
  confirmed: (problem) => {
    if (problem !== undefined) throw problem;
  },
  run: () => {},
  fail: () => {},
};

/**
 * Runs `change`, which needs no commit, once it is certain that no other coordinator has taken over: no one
 * acts on what it changes here.
 */
export function holderInput(
  change: () => void,
  { done, fail }: { done: () => void; fail: (error: unknown) => void },
): Input {
  let problem: unknown;
  return {
    confirmed: (found) => {
      problem = found;
      change();
    },
    run: () => {
      if (problem !== undefined)
        throw new OperationError('unavailable', 'The database does not answer; try again.', {
          cause: problem,
        });
    },
    done: () => done(),
    fail,
  };
}
