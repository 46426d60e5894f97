/** Reads the service of one start that is assigned to a host: what its agent needs besides the message. */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { Db } from '../db/db.ts';

export interface AssignedService {
  instance: string;
  group: string;
  /** The application, as JSON text. */
  description: string;
  context: { executionId: number; executionName: string; userId: number; userName: string; fsUid: number };
}

/** As committed: undefined if the start is of another host, an earlier one, or about to end. */
export async function findAssignedService(
  db: Db,
  hostId: number,
  { service, generation }: ServiceKey,
): Promise<AssignedService | undefined> {
  const sql = `SELECT s.name, s.service_group, s.execution_id, e.name AS execution_name, e.user_id, e.description,
      u.username, u.fs_uid
    FROM services s JOIN executions e ON e.id = s.execution_id JOIN users u ON u.id = e.user_id
    WHERE s.id = ? AND s.host_id = ? AND s.generation = ? AND s.status IN ('starting', 'active') LIMIT 1`;
  const [row] = await db.query(sql, [service, hostId, generation]);
  if (!row) return undefined;
  const context = {
    executionId: Number(row.execution_id),
    executionName: String(row.execution_name),
    userId: Number(row.user_id),
    userName: String(row.username),
    fsUid: Number(row.fs_uid),
  };
  return {
    instance: String(row.name),
    group: String(row.service_group),
    description: String(row.description),
    context,
  };
}

/** The description of an execution, if it may refer to secrets or files, and its owner. */
export async function findSecretUse(
  db: Db,
  executionId: number,
  ownerId: number | null,
): Promise<{ userId: number; description: string } | undefined> {
  const sql = `SELECT user_id, description FROM executions
    WHERE id = ? AND user_id = ifnull(?, user_id) AND (instr(description, '{secret#') > 0 OR instr(description, '"files"') > 0) LIMIT 1`;
  const [row] = await db.query(sql, [executionId, ownerId]);
  return row && { userId: Number(row.user_id), description: String(row.description) };
}
