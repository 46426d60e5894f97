/**
 * Changes of accounts: what each one writes in the transaction of its turn, and what it then changes in the
 * coordinator's state. Every statement is guarded: a change that the data refuse affects no row, and fails no
 * other change of the transaction.
 */
import { DEFAULT_QUOTA, DEFAULT_ROLE } from '../../core/accounts/account.ts';
import type { AccountChange, RequestedChange, WriteOutcome } from '../../core/accounts/account-input.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Row, Statement } from '../db/db.ts';
import { insertAuditOfChange } from './audit.ts';
import { insertKeyOfChange } from './idempotency-keys.ts';
import { expireJoinTokens, insertJoinToken } from './join-tokens.ts';
import { expirePersonalTokens, insertPersonalToken } from './personal-tokens.ts';
import { deleteQuota, insertQuota, moveUsersOfQuota, quotaOf, updateQuota } from './quotas.ts';
import { deletionOfRole, insertRole, moveUsersOfRole } from './roles.ts';
import { freeIdentity, insertIdentity, removeIdentity, replaceIdentity } from './sign-ons.ts';
import { deleteSecretsOf, hideUser, insertUser, refusalOfUser, updateUser, userOf } from './user-rows.ts';
import { credentialsOf, insertSecret, LISTED, removalOfSecret, secretOf } from './user-secrets.ts';

/** What a change writes. */
interface Parts {
  before?: readonly Statement[];
  /** The change itself. It returns its row, with an `id`; no row means that it was refused. */
  main: Statement;
  /** Run after the change and its record, and do nothing if the statement before did nothing. */
  after?: readonly Statement[];
  /** Why the change was refused: by a query of `taken` and `dangling`, or always for the same reason. */
  refusal?: Statement | Refusal;
}

type Refusal = Extract<WriteOutcome, { done: false }>['why'];

/** The statements of a change, and what their rows mean. */
export interface AccountWrites {
  statements: readonly Statement[];
  /** `rows`: what each of the statements returned. */
  outcomeOf(rows: readonly Row[][]): WriteOutcome;
  /** Changes the state likewise, if the outcome is that the change was made. */
  apply(cluster: Cluster, rows: readonly Row[][]): void;
}

export function writesOf({ change, key, entry, timeMs }: RequestedChange): AccountWrites {
  const { before = [], main, after = [], refusal } = partsOf(change);
  const use = key ? [insertKeyOfChange({ ...key, madeId: madeIdOf(change), madeMs: timeMs })] : [];
  const target = auditTargetOf(change);
  const audit = entry ? [insertAuditOfChange(entry, timeMs, target)] : [];
  const query = typeof refusal === 'object' ? [refusal] : [];
  const rowOf = (rows: readonly Row[][]) => rows[before.length]?.[0];
  return {
    statements: [...before, main, ...use, ...audit, ...after, ...query],
    outcomeOf: (rows) => {
      const row = rowOf(rows);
      if (row) return { done: true, id: Number(row.id) };
      return { done: false, why: typeof refusal === 'string' ? refusal : refusalOf(rows.at(-1)?.[0]) };
    },
    apply: (cluster, rows) => {
      const row = rowOf(rows);
      if (row) apply(cluster, change, row);
    },
  };
}

const refusalOf = (row: Row | undefined): Refusal => {
  if (row?.taken === 1) return 'taken';
  return row?.dangling === 1 ? 'refers-to-nothing' : 'refused';
};

function partsOf(change: AccountChange): Parts {
  switch (change.kind) {
    case 'create-user': {
      const { identity, username } = change.user;
      return {
        before: identity ? [freeIdentity(identity)] : [],
        main: returning(insertUser(change.user)),
        after: identity ? [insertIdentity(username, identity)] : [],
        refusal: refusalOfUser(undefined, change.user),
      };
    }
    case 'update-user': {
      const { id, changes } = change;
      const { identity } = changes;
      return {
        before: identity ? [freeIdentity(identity)] : [],
        main: returning(updateUser(id, changes)),
        after: identity ? [replaceIdentity(id, identity)] : identity === null ? removeIdentity(id) : [],
        refusal: refusalOfUser(id, changes),
      };
    }
    case 'delete-user':
      return { before: [deleteSecretsOf(change.id)], main: returning(hideUser(change.id), 'id') };
    case 'create-role':
      return { main: returning(insertRole(change.role), 'id'), refusal: 'taken' };
    case 'create-quota':
      return { main: returning(insertQuota(change.quota)), refusal: 'taken' };
    case 'update-quota':
      return {
        main: returning(updateQuota(change.id, change.changes)),
        refusal: {
          sql: 'SELECT EXISTS (SELECT 1 FROM quotas WHERE name = ? AND id <> ?) AS taken',
          args: [change.changes.name ?? null, change.id],
        },
      };
    case 'delete-quota':
      return {
        before: change.moves ? [moveUsersOfQuota(change.id)] : [],
        main: returning(
          deleteQuota(change.id),
          `id, (SELECT id FROM quotas WHERE name = '${DEFAULT_QUOTA}') AS fallback_id`,
        ),
      };
    case 'delete-role':
      return {
        before: [moveUsersOfRole(change.id)],
        main: returning(
          deletionOfRole(change.id),
          `id, (SELECT id FROM roles WHERE name = '${DEFAULT_ROLE}') AS fallback_id`,
        ),
      };
    case 'create-join-token':
      return {
        before: [expireJoinTokens(change.nowMs)],
        main: returning(insertJoinToken(change.token), 'expires_ms AS id'),
        refusal: 'taken',
      };
    case 'create-personal-token': {
      const { userId, name, madeMs } = change.token;
      return {
        before: [expirePersonalTokens(userId, madeMs)],
        main: returning(insertPersonalToken(change.token, change.maxPerUser), 'id'),
        refusal: {
          sql: 'SELECT EXISTS (SELECT 1 FROM personal_tokens WHERE user_id = ? AND name = ?) AS taken',
          args: [userId, name],
        },
      };
    }
    case 'set-credentials':
      return { main: returning(insertSecret(change.credentials, change.terms), LISTED) };
    case 'remove-credentials':
      return { main: returning(removalOfSecret(change.id), 'id') };
  }
}

const returning = ({ sql, args }: Statement, columns = '*'): Statement => ({
  sql: `${sql} RETURNING ${columns}`,
  args,
});

/** Join tokens have no id of their own. */
function auditTargetOf(change: AccountChange): number | Statement | null {
  if (change.kind === 'create-join-token') return null;
  return 'id' in change ? change.id : madeIdOf(change);
}

/** The id of what the statements before have made: a value, or a query. */
function madeIdOf(change: AccountChange): number | Statement {
  switch (change.kind) {
    case 'create-user':
      return { sql: 'SELECT id FROM users WHERE username = ?', args: [change.user.username] };
    case 'create-role':
      return { sql: 'SELECT id FROM roles WHERE name = ?', args: [change.role.name] };
    case 'create-quota':
      return { sql: 'SELECT id FROM quotas WHERE name = ?', args: [change.quota.name] };
    case 'create-personal-token':
      return { sql: 'SELECT id FROM personal_tokens WHERE hash = ?', args: [change.token.hash] };
    case 'create-join-token':
      return change.token.expiresMs;
    case 'set-credentials': {
      const { kind, userId, name } = change.credentials;
      return {
        sql: 'SELECT id FROM user_secrets WHERE ifnull(user_id, 0) = ? AND kind = ? AND name = ?',
        args: [userId ?? 0, kind, name],
      };
    }
    default:
      return change.id;
  }
}

function apply(cluster: Cluster, change: AccountChange, row: Row): void {
  switch (change.kind) {
    case 'create-user':
    case 'update-user':
      cluster.setUser(userOf(row));
      return;
    case 'delete-user': {
      const user = cluster.users.get(change.id);
      if (user) cluster.setUser({ ...user, enabled: false });
      cluster.credentials.removeAllOf(change.id);
      return;
    }
    case 'create-quota':
    case 'update-quota':
      cluster.setQuota(quotaOf(row));
      return;
    case 'delete-quota': {
      const quotaId = Number(row.fallback_id);
      for (const user of [...cluster.users.values()])
        if (user.quotaId === change.id) cluster.setUser({ ...user, quotaId });
      cluster.quotas.delete(change.id);
      return;
    }
    case 'delete-role': {
      const roleId = Number(row.fallback_id);
      for (const user of [...cluster.users.values()])
        if (user.roleId === change.id)
          cluster.setUser({ ...user, roleId, credentialVersion: user.credentialVersion + 1 });
      return;
    }
    case 'set-credentials':
      cluster.credentials.set(credentialsOf(secretOf(row)));
      return;
    case 'remove-credentials':
      cluster.credentials.remove(change.place);
      return;
  }
}
