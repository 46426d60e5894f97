/** Use cases on quotas, and how much of a quota is in use. Each one authorises on its first line. */
import { type Actor, authorise, type Quota } from '../../core/accounts/account.ts';
import type { NameFilter, NewQuota, QuotaChanges } from '../../core/accounts/account-input.ts';
import type { Allowance } from '../../core/accounts/quota.ts';
import type { Made } from '../../core/model/idempotency.ts';
import * as store from '../../store/accounts/quotas.ts';
import type { Context, ReadKey } from '../context.ts';
import { existing, type Input, idOf, keyOf, madeBy, referencesText } from './write-outcome.ts';

/** Refusal of an update whose quota was deleted at the same moment. */
const GONE = 'The quota has just been deleted.';

export async function createQuota(
  { coordinator }: Context,
  actor: Actor,
  input: Input<NewQuota>,
  readKey?: ReadKey,
): Promise<Made> {
  const account = authorise(actor, { kind: 'configure' });
  const quota = await input();
  const key = keyOf(account, readKey);
  return madeBy(await coordinator.changeAccounts({ kind: 'create-quota', quota }, key), 'quota');
}

export async function getQuota({ db }: Context, actor: Actor, id: number): Promise<Quota> {
  authorise(actor, { kind: 'see-configuration' });
  return existing(await store.findQuota(db, id), 'quota');
}

export async function listQuotas({ db }: Context, actor: Actor, filter: Input<NameFilter>): Promise<Quota[]> {
  authorise(actor, { kind: 'see-configuration' });
  return store.listQuotas(db, await filter());
}

export async function updateQuota(
  { db, coordinator }: Context,
  actor: Actor,
  id: number,
  input: Input<QuotaChanges>,
): Promise<void> {
  authorise(actor, { kind: 'configure' });
  const changes = await input();
  existing(await store.findQuota(db, id), 'quota');
  idOf(await coordinator.changeAccounts({ kind: 'update-quota', id, changes }), 'quota', GONE);
}

export async function deleteQuota({ db, coordinator }: Context, actor: Actor, id: number): Promise<void> {
  authorise(actor, { kind: 'configure' });
  existing(await store.findQuota(db, id), 'quota');
  const deleted = await coordinator.changeAccounts({ kind: 'delete-quota', id });
  idOf(deleted, 'quota', deleted.done ? '' : await referencesText(db, 'quota', id));
}

/** The actor's own quota, and how much of it is in use. */
export async function getAllowance({ coordinator }: Context, actor: Actor): Promise<Allowance> {
  const { user } = authorise(actor, { kind: 'submit-execution' });
  return coordinator.allowance(user.id);
}
