/** Changes a user's own password, which requires the current one. */
import { type Actor, authorise } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Context } from '../context.ts';
import type { Authentication } from './authentication.ts';
import { updateUser } from './users.ts';
import type { Input } from './write-outcome.ts';

export interface PasswordChange {
  present: string;
  password: string;
}

/**
 * Throttles guesses of the current password like logins. Ends all sessions and tokens of the user, and
 * resolves to a new session.
 */
export async function changeOwnPassword(
  context: Context,
  authentication: Authentication,
  actor: Actor,
  input: Input<PasswordChange>,
  addressOf: () => string | undefined,
): Promise<string> {
  const { user } = authorise(actor, { kind: 'login' });
  const { present, password } = await input();
  const basic = { username: user.username, password: present };
  try {
    await authentication.authenticate({ basic, sessionTokens: [], addressOf });
  } catch (error) {
    if (!(error instanceof OperationError) || error.code !== 'unauthenticated') throw error;
    throw new OperationError('invalid', 'This is not your current password.');
  }
  await updateUser(context, actor, user.id, async () => ({ password }));
  return authentication.renew(user.id);
}
