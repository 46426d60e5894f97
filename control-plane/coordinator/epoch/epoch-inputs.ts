/** Inputs of a turn that confirm with the database that no later coordinator has taken over. */
import { OperationError } from '../../core/model/errors.ts';
import type { Db } from '../../store/db/db.ts';
import { fence, isStale } from '../../store/db/epoch.ts';
import type { Input, State } from '../turn-inputs.ts';

/** Fails its turn unless the database confirms that the epoch is the latest. */
export function epochCheck(db: Db): Input {
  const prepare = async ({ epoch }: State) => void (await db.batch([fence(epoch)]));
  return { prepare, run: () => {}, fail: () => {} };
}

/**
 * Runs `change`, which needs no commit, once it is certain that no other coordinator has taken over: no one
 * acts on what it changes here.
 */
export function holderInput(
  db: Db,
  change: () => void,
  { done, fail }: { done: () => void; fail: (error: unknown) => void },
): Input {
  let problem: unknown;
  return {
    prepare: async ({ epoch }) => {
      try {
        await db.batch([fence(epoch)]);
      } catch (error) {
        if (isStale(error)) throw error;
        problem = error;
      }
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
