/** Rows of executions, as the coordinator reads and writes them. */
import type { Application } from '../../../shared/application-schema.ts';
import { instancesOf } from '../../core/lifecycle/submission.ts';
import type { Execution, ExecutionStatus } from '../../core/model/execution.ts';
import { utf8Bytes } from '../../core/model/json-bytes.ts';
import { gangDemandOf } from '../../core/scheduling/resource-demand.ts';
import type { Argument, Row, Statement } from '../db/db.ts';
import { serviceOf } from './service-rows.ts';
import { waitingValues } from './waiting-rows.ts';

/** `serviceRows` must be in the order of their ids, which is the order of the description. */
export function executionOf(row: Row, serviceRows: readonly Row[]): Execution {
  const description = String(row.description);
  // Validated at submission.
  const application = JSON.parse(description) as Application;
  const instances = new Map(instancesOf(application).map((one) => [one.name, one]));
  const services = serviceRows.flatMap((service) => {
    const instance = instances.get(String(service.name));
    return instance ? [serviceOf(service, instance)] : [];
  });
  return {
    id: Number(row.id),
    name: String(row.name),
    userId: Number(row.user_id),
    description,
    descriptionBytes: utf8Bytes(description),
    firstServiceId: numberOrNull(row.first_service_id) ?? services[0]?.id ?? 0,
    serviceCount: numberOrNull(row.service_count) ?? services.length,
    hasServiceRows: services.length > 0,
    demand: gangDemandOf(application),
    size: application.size,
    status: String(row.status) as ExecutionStatus,
    ending: row.ending === null ? null : JSON.parse(String(row.ending)),
    deleted: row.deleted === 1,
    errorMessage: row.error_message === null ? null : String(row.error_message),
    timeSubmitMs: Number(row.time_submit_ms),
    timePlaceMs: numberOrNull(row.time_place_ms),
    timeStartMs: numberOrNull(row.time_start_ms),
    timeStopMs: numberOrNull(row.time_stop_ms),
    timeEndMs: numberOrNull(row.time_end_ms),
    attempts: Number(row.attempts),
    retryAtMs: numberOrNull(row.retry_at_ms),
    timeLimitS: numberOrNull(row.time_limit_s),
    services,
  };
}

const utf8 = new TextEncoder();

export const insertExecution = (execution: Execution, description: string): Statement => ({
  sql: `INSERT INTO executions (status, ending, deleted, error_message, time_place_ms, time_start_ms, time_stop_ms,
    time_end_ms, attempts, retry_at_ms, time_limit_s, id, name, user_id, description, time_submit_ms, first_service_id,
    service_count, size, demand, description_bytes)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, ?, ?, ?)`,
  args: [
    ...values(execution),
    execution.id,
    execution.name,
    execution.userId,
    longText(description),
    execution.timeSubmitMs,
    ...waitingValues(execution),
  ],
});

export const updateExecution = (execution: Execution): Statement => ({
  sql: `UPDATE executions SET status = ?, ending = ?, deleted = ?, error_message = ?, time_place_ms = ?,
    time_start_ms = ?, time_stop_ms = ?, time_end_ms = ?, attempts = ?, retry_at_ms = ?, time_limit_s = ? WHERE id = ?`,
  args: [...values(execution), execution.id],
});

/** A long text is sent as bytes: within the JSON of a remote database, it may take twice its length. */
const longText = (text: string): Argument => (text.length > LONG ? utf8.encode(text) : text);
const LONG = 4096;

const values = (execution: Execution) => [
  execution.status,
  execution.ending && JSON.stringify(execution.ending),
  Number(execution.deleted),
  execution.errorMessage,
  execution.timePlaceMs,
  execution.timeStartMs,
  execution.timeStopMs,
  execution.timeEndMs,
  execution.attempts,
  execution.retryAtMs,
  execution.timeLimitS,
];

const numberOrNull = (value: Row[string] | undefined) => (typeof value === 'number' ? value : null);
