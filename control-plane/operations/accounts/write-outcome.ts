/**
 * Common to the use cases on users, roles and quotas: input parsed after authorisation, and the errors of
 * refused writes.
 */

import type { Account } from '../../core/accounts/account.ts';
import type { WriteOutcome } from '../../core/accounts/account-input.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Made, UserKey } from '../../core/model/idempotency.ts';
import { count, listText } from '../../core/model/text.ts';
import { findReferences } from '../../store/accounts/references.ts';
import type { Db } from '../../store/db/db.ts';
import type { ReadKey } from '../context.ts';

export type Kind = 'user' | 'role' | 'quota';

/**
 * Parses the input. Called after authorisation, so that a caller without permission learns nothing about its
 * errors.
 */
export type Input<T> = () => Promise<T>;

/**
 * The id of the written row. Throws the error of a refused write; `refused` is the text for the use case's
 * own condition.
 */
export function idOf(written: WriteOutcome, kind: Kind, refused: string): number {
  if (written.done) return written.id;
  switch (written.why) {
    case 'taken':
      throw new OperationError(
        'conflict',
        `There is already a ${kind} with that name${kind === 'user' ? ' or subject, or a deleted user had that fs_uid' : ''}.`,
      );
    case 'refers-to-nothing':
      throw new OperationError('invalid', 'The role or the quota does not exist.');
    case 'refused':
      throw new OperationError('conflict', refused);
  }
}

/** What a creation has made, or a repeat of it found. */
export const madeBy = (written: WriteOutcome, kind: Kind): Made => ({
  id: idOf(written, kind, ''),
  isRepeat: written.done && written.isRepeat === true,
});

/** The key that the actor has sent. */
export const keyOf = ({ user }: Account, readKey: ReadKey | undefined): UserKey | undefined => {
  const key = readKey?.();
  return key && { ...key, userId: user.id };
};

/** Returns what was found, or throws `not-found`. */
export function existing<T>(found: T | undefined, kind: Kind): T {
  if (found === undefined) throw new OperationError('not-found', `There is no such ${kind}.`);
  return found;
}

/**
 * Explains why a role or quota cannot be deleted and what to do. It may have become unused in the meantime.
 */
export async function referencesText(db: Db, kind: 'role' | 'quota', id: number): Promise<string> {
  const { users, deletedUsers, hosts } = await findReferences(db, kind, id);
  if (users > 0)
    return `The ${kind} is still in use by ${count(users, 'user')}: give ${users === 1 ? 'that user' : 'them'} another ${kind} first.`;
  if (deletedUsers === 0) return `The ${kind} was still in use a moment ago; try again.`;
  const where = hosts.length > 0 ? ` on ${hosts.length === 1 ? 'host' : 'hosts'} ${listText(hosts)}` : '';
  return `The ${kind} is still in use by ${count(deletedUsers, 'deleted user')} until all their containers and logs${where} are gone; try again then.`;
}
