/** References to a role or a quota, for the message why it cannot be deleted. Rows of deleted users count. */
import type { Db } from '../db/db.ts';

export interface References {
  users: number;
  deletedUsers: number;
  /** Names of hosts that may still have containers or logs of the deleted users. */
  hosts: string[];
}

const COLUMN = { role: 'role_id', quota: 'quota_id' } as const;

export async function findReferences(db: Db, kind: keyof typeof COLUMN, id: number): Promise<References> {
  const refersTo = `users.${COLUMN[kind]} = ?`;
  const [counts, hosts] = await Promise.all([
    db.query(
      `SELECT count(*) FILTER (WHERE deleted = 0) AS users, count(*) FILTER (WHERE deleted = 1) AS deleted_users
      FROM users WHERE ${refersTo}`,
      [id],
    ),
    db.query(
      `SELECT DISTINCT hosts.name FROM users JOIN executions ON executions.user_id = users.id
      JOIN services ON services.execution_id = executions.id JOIN hosts ON hosts.id = services.host_id
      WHERE users.deleted = 1 AND ${refersTo} ORDER BY hosts.name LIMIT 100`,
      [id],
    ),
  ]);
  return {
    users: Number(counts[0]?.users),
    deletedUsers: Number(counts[0]?.deleted_users),
    hosts: hosts.map(({ name }) => String(name)),
  };
}
