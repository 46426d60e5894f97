/** Owns executions that tests put into the database as rows: with any status, owner and times, and more than could be submitted. */
import type { ExecutionStatus } from '../../control-plane/core/model/execution.ts';
import { insertExecution } from '../../control-plane/store/cluster/execution-rows.ts';
import type { Db } from '../../control-plane/store/db/db.ts';
import { application, service } from './descriptions.ts';

export interface ExecutionRow {
  id: number;
  name: string;
  userId: number;
  status: ExecutionStatus;
  submitMs: number;
  startMs: number | null;
  endMs: number | null;
}

const BATCH = 1_000;

/** The coordinator does not learn of them: for lists alone, and before anything is submitted. */
export async function addExecutions(
  db: Db,
  rows: readonly ExecutionRow[],
  description: unknown = application(service()),
): Promise<void> {
  for (let at = 0; at < rows.length; at += BATCH) {
    await db.batch(rows.slice(at, at + BATCH).map((row) => statementOf(row, JSON.stringify(description))));
  }
}

const statementOf = (
  { id, name, userId, status, submitMs, startMs, endMs }: ExecutionRow,
  description: string,
) =>
  insertExecution({
    id,
    name,
    userId,
    description,
    status,
    ending: null,
    deleted: false,
    errorMessage: null,
    timeSubmitMs: submitMs,
    timeStartMs: startMs,
    timeEndMs: endMs,
    attempts: 0,
    retryAtMs: null,
    timePlaceMs: null,
    timeStopMs: null,
    size: 0,
    services: [],
  });
