/** Rows of executions, as the coordinator reads and writes them. */
import type { Application } from '../../../shared/application-schema.ts';
import { instancesOf } from '../../core/lifecycle/submission.ts';
import type { Execution, ExecutionStatus } from '../../core/model/execution.ts';
import { utf8Bytes } from '../../core/model/json-bytes.ts';
import { gangDemandOf } from '../../core/scheduling/resource-demand.ts';
import { Columns, flag, json, number, numberOrNull, oneOf, orNull, text } from '../db/columns.ts';
import type { Argument, Row, Statement } from '../db/db.ts';
import { serviceOf } from './service-rows.ts';
import { waitingValues } from './waiting-rows.ts';

/** What changes after the submission. */
const columns = new Columns({
  status: oneOf<ExecutionStatus>(),
  ending: orNull(json<NonNullable<Execution['ending']>>()),
  deleted: flag,
  errorMessage: orNull(text),
  timePlaceMs: orNull(number),
  timeStartMs: orNull(number),
  timeStopMs: orNull(number),
  timeEndMs: orNull(number),
  attempts: number,
  retryAtMs: orNull(number),
  timeLimitS: orNull(number),
});

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
    timeSubmitMs: Number(row.time_submit_ms),
    ...columns.read(row),
    services,
  };
}

const utf8 = new TextEncoder();

export const insertExecution = (execution: Execution, description: string): Statement => ({
  sql: `INSERT INTO executions (${columns.names}, id, name, user_id, description, time_submit_ms, first_service_id,
    service_count, size, demand, description_bytes)
    VALUES (${columns.marks}, ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, ?, ?, ?)`,
  args: [
    ...columns.values(execution),
    execution.id,
    execution.name,
    execution.userId,
    longText(description),
    execution.timeSubmitMs,
    ...waitingValues(execution),
  ],
});

export const updateExecution = (execution: Execution): Statement => ({
  sql: `UPDATE executions SET ${columns.updated} WHERE id = ?`,
  args: [...columns.values(execution), execution.id],
});

/** A long text is sent as bytes: within the JSON of a remote database, it may take twice its length. */
const longText = (text: string): Argument => (text.length > LONG ? utf8.encode(text) : text);
const LONG = 4096;
