/**
 * Changes of users and quotas: writes each in a transaction with the coordinator's epoch, then updates the
 * coordinator's state.
 */
import type { AccountChange } from '../../core/accounts/account-input.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Db, Statement } from '../db/db.ts';
import { type Epoch, fence } from '../db/epoch.ts';
import { outcomeOfWrite, type WriteOutcome } from './account-writes.ts';
import { deleteQuota, findQuota, insertQuota, listQuotas, updateQuota } from './quotas.ts';
import { findUser, hideUser, insertUser, listUsers, updateUser } from './user-rows.ts';

/** Changes the database and then `cluster`. After a rejection, the content of the database is unknown. */
export async function changeAccounts(
  db: Db,
  epoch: Epoch,
  cluster: Cluster,
  change: AccountChange,
): Promise<WriteOutcome> {
  const outcome = await outcomeOfWrite(async () => {
    const [, affected] = await db.batch([fence(epoch), statementOf(change)]);
    return affected === 0 ? undefined : idOf(db, change);
  });
  if (outcome.done) await updateCluster(db, cluster, change, outcome.id);
  return outcome;
}

function statementOf(change: AccountChange): Statement {
  switch (change.kind) {
    case 'create-user':
      return insertUser(change.user);
    case 'update-user':
      return updateUser(change.id, change.changes);
    case 'delete-user':
      return hideUser(change.id);
    case 'create-quota':
      return insertQuota(change.quota);
    case 'update-quota':
      return updateQuota(change.id, change.changes);
    case 'delete-quota':
      return deleteQuota(change.id);
  }
}

/** Looks up a created row by its unique name. */
async function idOf(db: Db, change: AccountChange): Promise<number | undefined> {
  if ('id' in change) return change.id;
  const [made] =
    change.kind === 'create-user'
      ? await listUsers(db, { username: change.user.username })
      : await listQuotas(db, { name: change.quota.name });
  return made?.id;
}

async function updateCluster(db: Db, cluster: Cluster, { kind }: AccountChange, id: number): Promise<void> {
  switch (kind) {
    case 'create-user':
    case 'update-user': {
      const user = await findUser(db, id);
      if (user) cluster.setUser(user);
      return;
    }
    case 'delete-user': {
      const user = cluster.users.get(id);
      if (user) cluster.setUser({ ...user, enabled: false });
      return;
    }
    case 'create-quota':
    case 'update-quota': {
      const quota = await findQuota(db, id);
      if (quota) cluster.setQuota(quota);
      return;
    }
    case 'delete-quota':
      cluster.quotas.delete(id);
  }
}
