/**
 * Executions that wait, as the coordinator reads them: without descriptions and services, from an index that
 * has every column (STORE-11), and later the descriptions and services of those that are placed.
 */
import type { Application } from '../../../shared/application-schema.ts';
import { instancesOf, newServices } from '../../core/lifecycle/submission.ts';
import type { Execution } from '../../core/model/execution.ts';
import type { Service } from '../../core/model/service.ts';
import { demandFromText, demandText } from '../../core/scheduling/resource-demand.ts';
import { numberOrNull } from '../db/columns.ts';
import type { Db, Row } from '../db/db.ts';
import { pagesOf } from '../db/pages.ts';
import { serviceOf } from './service-rows.ts';

/** Condition on rows that are read without their services. */
export const WAITS = `status = 'queued' AND ending IS NULL AND deleted = 0`;

/** The executions that wait, by rows with `id` and `bytes`. */
export const listWaiting = (db: Db): Promise<Row[]> =>
  db.query(
    `SELECT id, length(demand) + length(name) AS bytes FROM executions INDEXED BY executions_waiting
      WHERE ${WAITS} ORDER BY id`,
  );

/** Calls `add` with each execution that waits, in ascending order of ids. Pages are bounded in bytes. */
export async function loadWaiting(
  db: Db,
  rows: readonly Row[],
  add: (execution: Execution) => void,
): Promise<void> {
  for (const ids of pagesOf(rows)) {
    const page = await db.query(
      `SELECT id, name, user_id, size, time_submit_ms, attempts, retry_at_ms, first_service_id, service_count,
        demand, description_bytes, time_limit_s,
        EXISTS (SELECT 1 FROM services WHERE execution_id = executions.id) AS has_services
        FROM executions INDEXED BY executions_waiting WHERE ${WAITS} AND id BETWEEN ? AND ? ORDER BY id`,
      [ids[0] ?? 0, ids.at(-1) ?? 0],
    );
    for (const row of page) add(waitingOf(row));
  }
}

/** Written out, since a spread takes more memory. */
const waitingOf = (row: Row): Execution => ({
  id: Number(row.id),
  name: String(row.name),
  userId: Number(row.user_id),
  description: null,
  descriptionBytes: Number(row.description_bytes),
  firstServiceId: Number(row.first_service_id),
  serviceCount: Number(row.service_count),
  hasServiceRows: row.has_services === 1,
  demand: demandFromText(String(row.demand)),
  size: Number(row.size),
  status: 'queued',
  ending: null,
  deleted: false,
  errorMessage: null,
  timeSubmitMs: Number(row.time_submit_ms),
  timePlaceMs: null,
  timeStartMs: null,
  timeStopMs: null,
  timeEndMs: null,
  attempts: Number(row.attempts),
  retryAtMs: numberOrNull(row.retry_at_ms),
  timeLimitS: numberOrNull(row.time_limit_s),
  services: NO_SERVICES,
});

const NO_SERVICES: readonly never[] = [];

/** The fields of `executions` that the coordinator needs while an execution waits. */
export const waitingValues = ({
  firstServiceId,
  serviceCount,
  size,
  demand,
  descriptionBytes,
}: Pick<Execution, 'firstServiceId' | 'serviceCount' | 'size' | 'demand' | 'descriptionBytes'>) => [
  firstServiceId,
  serviceCount,
  size,
  demandText(demand),
  descriptionBytes,
];

/** The descriptions of executions, by id. The caller bounds their bytes. */
export async function loadDescriptions(db: Db, ids: readonly number[]): Promise<Map<number, string>> {
  const rows = await db.query(
    'SELECT id, description FROM executions WHERE id IN (SELECT value FROM json_each(?))',
    [JSON.stringify(ids)],
  );
  return new Map(rows.map(({ id, description }) => [Number(id), String(description)]));
}

/** The services of executions that were placed before, by execution id. */
export async function loadServiceRows(db: Db, ids: readonly number[]): Promise<Map<number, Row[]>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query(
    'SELECT * FROM services WHERE execution_id IN (SELECT value FROM json_each(?)) ORDER BY id',
    [JSON.stringify(ids)],
  );
  return Map.groupBy(rows, ({ execution_id }) => Number(execution_id));
}

/** The services of an execution, from its description and, if it was placed before, from their rows. */
export function servicesFrom(
  execution: Execution,
  application: Application,
  rows: readonly Row[] | undefined,
): Service[] {
  if (!rows) return newServices(execution, application);
  const instances = new Map(instancesOf(application).map((one) => [one.name, one]));
  return rows.flatMap((row) => {
    const instance = instances.get(String(row.name));
    return instance ? [serviceOf(row, instance)] : [];
  });
}
