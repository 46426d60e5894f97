/** Owns the use cases on quotas. Each authorises on its first line. */
import { type Actor, authorise, type Quota } from '../../core/accounts/account.ts';
import type { NameFilter, NewQuota, QuotaChanges } from '../../core/accounts/account-input.ts';
import * as store from '../../store/accounts/quotas.ts';
import type { Context } from '../context.ts';
import { existing, type Input, idOf, usesText } from './write-outcome.ts';

/** Of an update whose quota went at that moment. */
const GONE = 'The quota has just been deleted.';

export async function createQuota(context: Context, actor: Actor, input: Input<NewQuota>): Promise<number> {
  authorise(actor, { kind: 'configure' });
  const quota = await input();
  return idOf(await context.coordination.changeAccounts({ kind: 'create-quota', quota }), 'quota', '');
}

export async function getQuota({ db }: Context, actor: Actor, id: number): Promise<Quota> {
  authorise(actor, { kind: 'configure' });
  return existing(await store.findQuota(db, id), 'quota');
}

export async function listQuotas({ db }: Context, actor: Actor, filter: Input<NameFilter>): Promise<Quota[]> {
  authorise(actor, { kind: 'configure' });
  return store.listQuotas(db, await filter());
}

export async function updateQuota(
  { db, coordination }: Context,
  actor: Actor,
  id: number,
  input: Input<QuotaChanges>,
): Promise<void> {
  authorise(actor, { kind: 'configure' });
  const changes = await input();
  existing(await store.findQuota(db, id), 'quota');
  idOf(await coordination.changeAccounts({ kind: 'update-quota', id, changes }), 'quota', GONE);
}

export async function deleteQuota({ db, coordination }: Context, actor: Actor, id: number): Promise<void> {
  authorise(actor, { kind: 'configure' });
  existing(await store.findQuota(db, id), 'quota');
  const deleted = await coordination.changeAccounts({ kind: 'delete-quota', id });
  idOf(deleted, 'quota', deleted.done ? '' : await usesText(db, 'quota', id));
}
