/** Owns the use case of changing one's own password, which asks for the present one. */
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
 * Changes one's own password for whoever knows the present one; guesses are throttled like logins. All sessions and tokens
 * end; resolves to a new session to go on with.
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
    throw new OperationError('invalid', 'This is not your present password.');
  }
  await updateUser(context, actor, user.id, async () => ({ password }));
  return authentication.renew(user.id);
}
