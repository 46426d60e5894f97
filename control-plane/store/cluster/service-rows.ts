/**
 * Rows of services, as the coordinator reads and writes them. The content of the description is not stored
 * twice.
 */

import type { Instance } from '../../core/lifecycle/submission.ts';
import type { BackendStatus, Service, ServiceStatus } from '../../core/model/service.ts';
import type { Row, Statement } from '../db/db.ts';

/** `instance` is the service's part of the description. */
export const serviceOf = (row: Row, instance: Instance): Service => ({
  id: Number(row.id),
  executionId: Number(row.execution_id),
  name: instance.name,
  group: instance.group,
  essential: instance.essential,
  monitor: instance.monitor,
  startupOrder: instance.startupOrder,
  requirement: instance.requirement,
  isChecked: instance.isChecked,
  restart: instance.restart,
  status: String(row.status) as ServiceStatus,
  backendStatus: String(row.backend_status) as BackendStatus,
  hostId: row.host_id === null ? null : Number(row.host_id),
  placed: row.placed === 1,
  generation: Number(row.generation),
  containerId: textOrNull(row.backend_id),
  ipAddress: textOrNull(row.ip_address),
  ports: JSON.parse(String(row.ports)),
  exit: jsonOrNull(row.exit),
  failure: jsonOrNull(row.failure),
  deathsMs: JSON.parse(String(row.deaths_ms)),
  restartAtMs: row.restart_at_ms === null ? null : Number(row.restart_at_ms),
  errorMessage: textOrNull(row.error_message),
  history: JSON.parse(String(row.history)),
  preparing: '',
  logs: row.forgotten === 1 ? 'forgotten' : 'kept',
});

export const insertService = (service: Service): Statement => ({
  sql: `INSERT INTO services (status, backend_status, placed, generation, backend_id, ip_address, ports, exit,
    failure, deaths_ms, restart_at_ms, error_message, history, forgotten, host_id, execution_id, name, service_group, id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  args: [...values(service), service.hostId, service.executionId, service.name, service.group, service.id],
});

/**
 * `hasMoved`: another host was recorded. The index of services by host has a page for each host, which every
 * update with the host would write again.
 */
export const updateService = (service: Service, hasMoved: boolean): Statement =>
  hasMoved
    ? { sql: UPDATE_WITH_HOST, args: [service.hostId, ...values(service), service.id] }
    : { sql: UPDATE, args: [...values(service), service.id] };

const VALUES = `status = ?, backend_status = ?, placed = ?, generation = ?, backend_id = ?, ip_address = ?, ports = ?,
  exit = ?, failure = ?, deaths_ms = ?, restart_at_ms = ?, error_message = ?, history = ?,
  forgotten = ? WHERE id = ?`;
const UPDATE = `UPDATE services SET ${VALUES}`;
const UPDATE_WITH_HOST = `UPDATE services SET host_id = ?, ${VALUES}`;

const values = (service: Service) => [
  service.status,
  service.backendStatus,
  Number(service.placed),
  service.generation,
  service.containerId,
  service.ipAddress,
  jsonList(service.ports),
  service.exit && JSON.stringify(service.exit),
  service.failure && JSON.stringify(service.failure),
  jsonList(service.deathsMs),
  service.restartAtMs,
  service.errorMessage,
  jsonList(service.history),
  Number(service.logs === 'forgotten'),
];

const jsonList = (list: readonly unknown[]) => (list.length === 0 ? '[]' : JSON.stringify(list));
const textOrNull = (value: Row[string] | undefined) =>
  value === null || value === undefined ? null : String(value);
const jsonOrNull = (value: Row[string] | undefined) => (typeof value === 'string' ? JSON.parse(value) : null);
