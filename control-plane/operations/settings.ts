/** Owns what the use cases on users, roles and quotas have in common: input that is read late, and refusals in words. */
import { OperationError } from '../core/errors.ts';
import type { Written } from '../store/settings-rows.ts';

export type Kind = 'user' | 'role' | 'quota';

/** Reads and checks the input. Called after authorisation, so that who may not do it learns nothing of its faults. */
export type Input<T> = () => Promise<T>;

/** The id of what was written. Where the data refused it: the error that says why; `refused` is for conditions of its own. */
export function idOf(written: Written, kind: Kind, refused: string): number {
  if (written.done) return written.id;
  switch (written.why) {
    case 'taken':
      throw new OperationError('conflict', `There is already a ${kind} of that name.`);
    case 'refers-to-nothing':
      throw new OperationError('invalid', 'The role or the quota does not exist.');
    case 'refused':
      throw new OperationError('conflict', refused);
  }
}

/** What was looked for, or the error that it does not exist. */
export function existing<T>(found: T | undefined, kind: Kind): T {
  if (found === undefined) throw new OperationError('not-found', `There is no such ${kind}.`);
  return found;
}
