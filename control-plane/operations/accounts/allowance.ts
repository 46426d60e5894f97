/** Owns the use case of asking what one may still run. */
import { type Actor, authorise } from '../../core/accounts/account.ts';
import type { Allowance } from '../../core/accounts/quota.ts';
import type { Context } from '../context.ts';

/** The actor's own quota, and what is taken of it. */
export async function getAllowance({ coordinator }: Context, actor: Actor): Promise<Allowance> {
  const { user } = authorise(actor, { kind: 'submit-execution' });
  return coordinator.allowance(user.id);
}
