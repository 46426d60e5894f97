/** Use cases on quotas, and how much of a quota is in use. Each one authorises on its first line. */
import { type Actor, authorise, DEFAULT_QUOTA, type Quota } from '../../core/accounts/account.ts';
import {
  givenFields,
  type NameFilter,
  type NewQuota,
  type QuotaChanges,
} from '../../core/accounts/account-input.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import type { Allowance } from '../../core/accounts/quota.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Made } from '../../core/model/idempotency.ts';
import * as store from '../../store/accounts/quotas.ts';
import { attempted } from '../audit.ts';
import type { Context, ReadKey } from '../context.ts';
import { existing, type Input, idOf, keyOf, madeBy, referencesText } from './write-outcome.ts';

/** Refusal of an update whose quota was deleted at the same moment. */
const GONE = 'The quota has just been deleted.';

export const createQuota = (
  context: Context,
  actor: Actor,
  input: Input<NewQuota>,
  readKey?: ReadKey,
): Promise<Made> =>
  attempted(context, actor, { action: 'create-quota' }, async () => {
    const account = authorise(actor, { kind: 'configure' });
    const quota = await input();
    const key = keyOf(account, readKey);
    const entry = entryOf(account, { action: 'create-quota', targetName: quota.name });
    return madeBy(
      await context.coordinator.changeAccounts({ kind: 'create-quota', quota }, key, entry),
      'quota',
    );
  });

/** `forAll`: any user may read it. */
export async function getQuota({ db }: Context, actor: Actor, id: number, forAll = false): Promise<Quota> {
  authorise(actor, { kind: forAll ? 'login' : 'see-configuration' });
  return existing(await store.findQuota(db, id), 'quota');
}

export async function listQuotas({ db }: Context, actor: Actor, filter: Input<NameFilter>): Promise<Quota[]> {
  authorise(actor, { kind: 'see-configuration' });
  return store.listQuotas(db, await filter());
}

/** `keepsDefault`: the default quota keeps its name. */
export const updateQuota = (
  context: Context,
  actor: Actor,
  id: number,
  input: Input<QuotaChanges>,
  keepsDefault = false,
): Promise<void> =>
  attempted(context, actor, { action: 'update-quota', targetId: id }, async () => {
    const { db, coordinator } = context;
    const account = authorise(actor, { kind: 'configure' });
    const changes = await input();
    const { name } = existing(await store.findQuota(db, id), 'quota');
    if (keepsDefault && name === DEFAULT_QUOTA && changes.name !== undefined)
      throw new OperationError('invalid', 'Cannot rename default quota');
    const fields = givenFields(changes);
    const entry = entryOf(account, { action: 'update-quota', targetId: id, targetName: name, fields });
    const updated = await coordinator.changeAccounts({ kind: 'update-quota', id, changes }, undefined, entry);
    idOf(updated, 'quota', GONE);
  });

/** `moves`: its users get the default quota where that allows them nothing more, and that one stays. */
export const deleteQuota = (context: Context, actor: Actor, id: number, moves = false): Promise<void> =>
  attempted(context, actor, { action: 'delete-quota', targetId: id }, async () => {
    const { db, coordinator } = context;
    const account = authorise(actor, { kind: 'configure' });
    const { name } = existing(await store.findQuota(db, id), 'quota');
    if (moves && name === DEFAULT_QUOTA) throw new OperationError('invalid', 'Cannot delete default quota');
    const entry = entryOf(account, { action: 'delete-quota', targetId: id, targetName: name });
    const deleted = await coordinator.changeAccounts({ kind: 'delete-quota', id, moves }, undefined, entry);
    idOf(deleted, 'quota', deleted.done ? '' : await referencesText(db, 'quota', id));
  });

/** The actor's own quota, and how much of it is in use. */
export async function getAllowance({ coordinator }: Context, actor: Actor): Promise<Allowance> {
  const { user } = authorise(actor, { kind: 'submit-execution' });
  return coordinator.allowance(user.id);
}
