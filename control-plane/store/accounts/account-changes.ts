/**
 * Changes of accounts: writes each in a transaction with the coordinator's epoch, then updates the
 * coordinator's state.
 */
import { DEFAULT_QUOTA, DEFAULT_ROLE } from '../../core/accounts/account.ts';
import type { AccountChange } from '../../core/accounts/account-input.ts';
import type { AuditEntry } from '../../core/accounts/audit.ts';
import type { UserKey } from '../../core/model/idempotency.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Db, Statement } from '../db/db.ts';
import { type Epoch, fence } from '../db/epoch.ts';
import { outcomeOfWrite, type WriteOutcome } from './account-writes.ts';
import { insertAuditOfChange } from './audit.ts';
import { insertKey } from './idempotency-keys.ts';
import { joinTokenStatements } from './join-tokens.ts';
import { findPersonalTokenId, personalTokenStatements } from './personal-tokens.ts';
import { deleteQuota, findQuota, insertQuota, listQuotas, moveUsersOfQuota, updateQuota } from './quotas.ts';
import { deletionOfRole, insertRole, listRoles, moveUsersOfRole } from './roles.ts';
import { freeIdentity, insertIdentity, removeIdentity, replaceIdentity } from './sign-ons.ts';
import { deleteSecretsOf, findUser, hideUser, insertUser, listUsers, updateUser } from './user-rows.ts';
import { credentialsOf, findSecret, findSecretId, insertSecret, removalOfSecret } from './user-secrets.ts';

/** What is recorded beside a change: the key under which something is created, and the audit entry. */
export interface Recorded {
  key?: UserKey | undefined;
  entry?: AuditEntry | undefined;
  nowMs: number;
}

/**
 * Changes the database, with what is recorded, and then `cluster`. After a rejection, the content of the
 * database is unknown.
 */
export async function changeAccounts(
  { db, epoch, cluster }: { db: Db; epoch: Epoch; cluster: Cluster },
  change: AccountChange,
  { key, entry, nowMs }: Recorded,
): Promise<WriteOutcome> {
  const outcome = await outcomeOfWrite(async () => {
    const statements = statementsOf(change);
    const madeId = knownId(change);
    const use = key ? [insertKey({ ...key, madeId, madeMs: nowMs })] : [];
    const target = madeId === undefined ? 'inserted' : 'given';
    const audit = entry ? [insertAuditOfChange(entry, nowMs, target)] : [];
    const affected = await db.batch([fence(epoch), ...statements, ...use, ...audit, ...followUps(change)]);
    // The change itself is the last of its statements.
    return affected[statements.length] === 0 ? undefined : idOf(db, change);
  });
  if (outcome.done) await updateCluster(db, cluster, change, outcome.id);
  return outcome;
}

function statementsOf(change: AccountChange): Statement[] {
  switch (change.kind) {
    case 'create-user': {
      const { identity } = change.user;
      const user = insertUser(change.user);
      return identity ? [freeIdentity(identity), user, insertIdentity(identity)] : [user];
    }
    case 'update-user': {
      const { identity } = change.changes;
      const user = updateUser(change.id, change.changes);
      return identity ? [freeIdentity(identity), user, replaceIdentity(change.id, identity)] : [user];
    }
    case 'delete-user':
      return [deleteSecretsOf(change.id), hideUser(change.id)];
    case 'create-role':
      return [insertRole(change.role)];
    case 'create-quota':
      return [insertQuota(change.quota)];
    case 'update-quota':
      return [updateQuota(change.id, change.changes)];
    case 'delete-quota':
      return [...(change.moves ? [moveUsersOfQuota(change.id)] : []), deleteQuota(change.id)];
    case 'delete-role':
      return [moveUsersOfRole(change.id), deletionOfRole(change.id)];
    case 'create-join-token':
      return joinTokenStatements(change.token, change.nowMs);
    case 'create-personal-token':
      return personalTokenStatements(change.token, change.maxPerUser);
    case 'set-credentials':
      return [insertSecret(change.credentials, change.terms)];
    case 'remove-credentials':
      return [removalOfSecret(change.id)];
  }
}

/** What runs after a change and its audit entry, and does nothing if there was none. */
const followUps = (change: AccountChange): Statement[] =>
  change.kind === 'update-user' && change.changes.identity === null ? removeIdentity(change.id) : [];

/** Undefined if the database assigns the id. */
function knownId(change: AccountChange): number | undefined {
  if ('id' in change) return change.id;
  return change.kind === 'create-join-token' ? change.token.expiresMs : undefined;
}

/** Looks up a created row by its unique name. */
async function idOf(db: Db, change: AccountChange): Promise<number | undefined> {
  switch (change.kind) {
    case 'create-user':
      return (await listUsers(db, { username: change.user.username }))[0]?.id;
    case 'create-role':
      return (await listRoles(db, { name: change.role.name }))[0]?.id;
    case 'create-quota':
      return (await listQuotas(db, { name: change.quota.name }))[0]?.id;
    case 'create-personal-token':
      return findPersonalTokenId(db, change.token.hash);
    case 'set-credentials':
      return findSecretId(db, change.credentials);
    default:
      return knownId(change);
  }
}

async function updateCluster(db: Db, cluster: Cluster, change: AccountChange, id: number): Promise<void> {
  switch (change.kind) {
    case 'create-user':
    case 'update-user': {
      const user = await findUser(db, id);
      if (user) cluster.setUser(user);
      return;
    }
    case 'delete-user': {
      const user = cluster.users.get(id);
      if (user) cluster.setUser({ ...user, enabled: false });
      cluster.credentials.removeAllOf(id);
      return;
    }
    case 'create-quota':
    case 'update-quota': {
      const quota = await findQuota(db, id);
      if (quota) cluster.setQuota(quota);
      return;
    }
    case 'delete-quota': {
      const [fallback] = await listQuotas(db, { name: DEFAULT_QUOTA });
      for (const user of [...cluster.users.values()])
        if (user.quotaId === id && fallback) cluster.setUser({ ...user, quotaId: fallback.id });
      cluster.quotas.delete(id);
      return;
    }
    case 'set-credentials': {
      const secret = await findSecret(db, 'registry', id);
      if (secret) cluster.credentials.set(credentialsOf(secret));
      return;
    }
    case 'remove-credentials':
      cluster.credentials.remove(change.place);
      return;
    case 'delete-role': {
      const [fallback] = await listRoles(db, { name: DEFAULT_ROLE });
      for (const user of [...cluster.users.values()]) {
        if (user.roleId !== id || !fallback) continue;
        const credentialVersion = user.credentialVersion + 1;
        cluster.setUser({ ...user, roleId: fallback.id, credentialVersion });
      }
    }
  }
}
