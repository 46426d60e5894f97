/** Reports how much of a user's quota is in use. */
import { type Actor, authorise } from '../../core/accounts/account.ts';
import type { Allowance } from '../../core/accounts/quota.ts';
import type { Context } from '../context.ts';

/** The actor's own quota and usage. */
export async function getAllowance({ coordinator }: Context, actor: Actor): Promise<Allowance> {
  const { user } = authorise(actor, { kind: 'submit-execution' });
  return coordinator.allowance(user.id);
}
