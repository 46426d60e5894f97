/** Changes of a user's own password require the current one: a stolen cookie or token must not suffice. */
import { type Actor, authorise } from '../../core/accounts/account.ts';
import type { Context } from '../context.ts';
import type { Authentication } from './authentication.ts';
import { updateUser } from './users.ts';
import type { Input } from './write-outcome.ts';

export interface PasswordChange {
  present: string;
  password: string;
}

/** Ends all sessions and tokens of the user, and resolves to a new session. */
export async function changeOwnPassword(
  context: Context,
  authentication: Authentication,
  actor: Actor,
  input: Input<PasswordChange>,
  addressOf: () => string | undefined,
): Promise<string> {
  const { user } = authorise(actor, { kind: 'login' });
  const changes = async () => {
    const { present, password } = await input();
    return { password, currentPassword: present };
  };
  await updateUser(context, actor, user.id, changes, (username, password) =>
    authentication.confirm(username, password, addressOf),
  );
  return authentication.renew(user.id);
}
