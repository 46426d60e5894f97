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
import { Columns, type Kind, number, numberOrNull, oneOf, orNull, text, textOrNull } from '../db/columns.ts';
import type { Argument, Db, Row, Statement } from '../db/db.ts';

/** A space within a field is stored as this control character, which no field has. */
const SPACE = '\u001f';

/** Spaces separate fields. */
const fields: Kind<readonly string[]> = {
  read: (value) => (value ? String(value).split(' ') : []).map((field) => field.replaceAll(SPACE, ' ')),
  write: (names) => names.map((field) => field.replaceAll(' ', SPACE)).join(' '),
};

const columns = new Columns({
  timeMs: number,
  userId: orNull(number),
  username: orNull(text),
  credential: oneOf<AuditRow['credential']>(),
  tokenId: orNull(number),
  requestId: orNull(text),
  action: oneOf<AuditRow['action']>(),
  targetName: orNull(text),
  fields,
  outcome: oneOf<AuditRow['outcome']>(),
});

/** The values of a JSON array: those of the columns, and two more. */
const LISTED = Array.from({ length: 12 }, (_, at) => `value ->> ${at}`).join(', ');

const valuesOf = (entry: AuditEntry, timeMs: number, outcome: AuditRow['outcome']): Argument[] =>
  columns.values({
    ...entry,
    timeMs,
    targetName: shortName(entry.targetName),
    fields: entry.fields ?? [],
    outcome,
  });

/** An entry and its time. */
export interface TimedEntry {
  entry: AuditEntry;
  timeMs: number;
}

/** The rows of changes that the same transaction makes in any case: one statement for the rows of a turn. */
export const insertAudits = (entries: readonly TimedEntry[]): Statement => ({
  sql: `INSERT INTO audit (${columns.names}, address, target_id) SELECT ${LISTED} FROM json_each(?)`,
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
    sql: `INSERT INTO audit (${columns.names}, address, target_id)
      SELECT ${columns.marks}, ?, (${sql}) WHERE changes() > 0`,
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
  const sql = `INSERT INTO audit (${columns.names}, address, target_id, counted_by)
    VALUES (${columns.marks}, ?, ?, ?) ${COUNT_AGAIN}`;
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
  const values = valuesOf(entry, nowMs, 'unauthenticated');
  return {
    sql: `WITH place AS (SELECT EXISTS (SELECT 1 FROM audit WHERE counted_by = ?)
        OR (SELECT count(*) FROM audit WHERE counted_by >= ? AND counted_by < ?) < ? AS is_own)
      INSERT INTO audit (${columns.names}, address, counted_by)
      SELECT ${columns.marks}, iif(is_own, ?, NULL), iif(is_own, ?, ?) FROM place WHERE true ${COUNT_AGAIN}`,
    args: [key, ...range, MAX_NETWORKS, ...values, network, key, others],
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
  ...columns.read(row),
  address: textOrNull(row.address),
  targetId: numberOrNull(row.target_id),
  executionId: numberOrNull(row.execution_id),
  count: Number(row.count),
});
