/** Rows of the audit log (ACC-13). A change writes its row in its own transaction. */
import {
  type AuditCredential,
  type AuditEntry,
  type AuditFilter,
  type AuditRefusal,
  type AuditRow,
  auditActions,
  auditTargets,
  entryWithoutUser,
  failedLoginKeys,
  MAX_NETWORKS,
  refusalKey,
  shortName,
} from '../../core/accounts/audit.ts';
import type { Argument, Db, Row, Statement, Value } from '../db/db.ts';

const COLUMNS =
  'time_ms, user_id, username, credential, token_id, request_id, action, target_name, fields, outcome';
const VALUES = '?, ?, ?, ?, ?, ?, ?, ?, ?, ?';

/** The same of a JSON array, and two more. */
const FIELDS = Array.from({ length: 12 }, (_, at) => `value ->> ${at}`).join(', ');

/** A space within a field is stored as this control character, which no field has. */
const SPACE = '\u001f';

/** Spaces separate fields. */
const storedFields = (fields: readonly string[]): string =>
  fields.map((field) => field.replaceAll(' ', SPACE)).join(' ');

const valuesOf = (entry: AuditEntry, timeMs: number, outcome: AuditRow['outcome']): Value[] => [
  timeMs,
  entry.userId,
  entry.username,
  entry.credential,
  entry.tokenId,
  entry.requestId,
  entry.action,
  shortName(entry.targetName),
  storedFields(entry.fields ?? []),
  outcome,
];

/** An entry and its time. */
export interface TimedEntry {
  entry: AuditEntry;
  timeMs: number;
}

/** The rows of changes that the same transaction makes in any case: one statement for the rows of a turn. */
export const insertAudits = (entries: readonly TimedEntry[]): Statement => ({
  sql: `INSERT INTO audit (${COLUMNS}, address, target_id) SELECT ${FIELDS} FROM json_each(?)`,
  args: [
    JSON.stringify(
      entries.map(({ entry, timeMs }) => [
        ...valuesOf(entry, timeMs, 'done'),
        entry.address,
        entry.targetId ?? null,
      ]),
    ),
  ],
});

/**
 * The row of the change that the statement before makes; none if that has changed nothing. `target`: the id
 * of what was changed, or a query for it.
 */
export function insertAuditOfChange(
  entry: AuditEntry,
  timeMs: number,
  target: number | Statement | null = entry.targetId ?? null,
): Statement {
  const { sql, args } = target !== null && typeof target === 'object' ? target : { sql: '?', args: [target] };
  return {
    sql: `INSERT INTO audit (${COLUMNS}, address, target_id) SELECT ${VALUES}, ?, (${sql}) WHERE changes() > 0`,
    args: [...valuesOf(entry, timeMs, 'done'), entry.address, ...args],
  };
}

/** Records a refusal. Further ones of its kind within the minute are counted in the same row. */
export async function countRefusal(
  db: Db,
  entry: AuditEntry,
  outcome: AuditRefusal,
  nowMs: number,
): Promise<void> {
  const sql = `INSERT INTO audit (${COLUMNS}, address, target_id, counted_by)
    VALUES (${VALUES}, ?, ?, ?) ${COUNT_AGAIN}`;
  const key = refusalKey(entry, outcome, nowMs);
  const values = valuesOf(entry, nowMs, outcome);
  await db.batch([{ sql, args: [...values, entry.address, entry.targetId ?? null, key] }]);
}

const COUNT_AGAIN =
  'ON CONFLICT (counted_by) WHERE counted_by IS NOT NULL DO UPDATE SET count = audit.count + 1';

/**
 * Counts a failed login of the network in its row of the minute. Networks beyond the limit share one row,
 * which names none.
 */
export function countFailedLogin(
  network: string | null,
  nowMs: number,
  by: AuditCredential = 'password',
): Statement {
  const { key, others, range } = failedLoginKeys(network, nowMs, by);
  const entry = entryWithoutUser(by, undefined, { action: 'log-in' });
  const [timeMs, ...values] = valuesOf(entry, nowMs, 'unauthenticated');
  return {
    sql: `WITH place AS (SELECT EXISTS (SELECT 1 FROM audit WHERE counted_by = ?)
        OR (SELECT count(*) FROM audit WHERE counted_by >= ? AND counted_by < ?) < ? AS is_own)
      INSERT INTO audit (${COLUMNS}, address, counted_by)
      SELECT ${VALUES}, iif(is_own, ?, NULL), iif(is_own, ?, ?) FROM place WHERE true ${COUNT_AGAIN}`,
    args: [key, ...range, MAX_NETWORKS, timeMs ?? null, ...values, network, key, others],
  };
}

/** Newest first, at most `limit`. */
export async function listAudit(db: Db, filter: AuditFilter, limit: number): Promise<AuditRow[]> {
  const { conditions, args } = conditionsOf(filter);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const rows = await db.query(
    `SELECT *, (SELECT execution_id FROM services s WHERE s.id = target_id) AS execution_id
      FROM audit ${where} ORDER BY id DESC LIMIT ?`,
    [...args, limit],
  );
  return rows.map(rowOf);
}

function conditionsOf(filter: AuditFilter): { conditions: string[]; args: Argument[] } {
  const { username, action, target, sinceMs, untilMs, beforeId } = filter;
  const actions = auditActions.filter((one) => auditTargets[one] === target?.kind);
  const parts: [condition: string, value: Argument | undefined][] = [
    ['id < ?', beforeId],
    ['username = ?', username],
    ['action = ?', action],
    ['action IN (SELECT value FROM json_each(?))', target && JSON.stringify(actions)],
    ['target_id = ?', target?.id],
    ['time_ms >= ?', sinceMs],
    ['time_ms < ?', untilMs],
  ];
  const given = parts.flatMap(([condition, value]) => (value === undefined ? [] : [{ condition, value }]));
  return { conditions: given.map(({ condition }) => condition), args: given.map(({ value }) => value) };
}

/** Rows that one step removes: a burst of changes must not outpace the reviews. */
const STEP_ROWS = 1_000;

/**
 * Deletes the oldest rows that are due, and then rows beyond the limit: the oldest of the account with the
 * most, so that nobody displaces the traces of others. Rows without an account count as one account's.
 */
export const expiredAudit = ({
  auditMs,
  auditRows,
}: {
  auditMs: number | null;
  auditRows: number;
}): Statement[] => [
  {
    sql: `DELETE FROM audit WHERE time_ms <= ? AND id IN (SELECT id FROM audit ORDER BY id LIMIT ${STEP_ROWS})`,
    args: [auditMs ?? -1],
  },
  {
    // Rows are counted only where the range of their ids is longer than the limit.
    sql: `DELETE FROM audit WHERE id IN (SELECT id FROM audit
      WHERE user_id IS (SELECT user_id FROM audit GROUP BY user_id ORDER BY count(*) DESC, user_id LIMIT 1)
      ORDER BY id LIMIT iif((SELECT max(id) - min(id) FROM audit) < ?, 0,
        min(${STEP_ROWS}, max(0, (SELECT count(*) FROM audit) - ?))))`,
    args: [auditRows, auditRows],
  },
];

const rowOf = (row: Row): AuditRow => ({
  id: Number(row.id),
  timeMs: Number(row.time_ms),
  userId: numberOf(row.user_id),
  username: textOf(row.username),
  credential: String(row.credential) as AuditRow['credential'],
  tokenId: numberOf(row.token_id),
  address: textOf(row.address),
  requestId: textOf(row.request_id),
  action: String(row.action) as AuditRow['action'],
  targetId: numberOf(row.target_id),
  targetName: textOf(row.target_name),
  executionId: numberOf(row.execution_id),
  fields: fieldsOf(String(row.fields)),
  outcome: String(row.outcome) as AuditRow['outcome'],
  count: Number(row.count),
});

const fieldsOf = (text: string): string[] =>
  text === '' ? [] : text.split(' ').map((field) => field.replaceAll(SPACE, ' '));

const numberOf = (value: Value | undefined): number | null => (value == null ? null : Number(value));
const textOf = (value: Value | undefined): string | null => (value == null ? null : String(value));
