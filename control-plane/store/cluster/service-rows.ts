/**
 * Rows of services, as the coordinator reads and writes them. The content of the description is not stored
 * twice.
 */

import type { Instance } from '../../core/lifecycle/submission.ts';
import type { BackendStatus, Service, ServiceStatus } from '../../core/model/service.ts';
import { Columns, flag, json, type Kind, number, numberOrNull, oneOf, orNull, text } from '../db/columns.ts';
import type { Row, Statement } from '../db/db.ts';

const columns = new Columns(
  {
    status: oneOf<ServiceStatus>(),
    backendStatus: oneOf<BackendStatus>(),
    placed: flag,
    generation: number,
    containerId: orNull(text),
    ipAddress: orNull(text),
    ports: json<Service['ports']>(),
    exit: orNull(json<NonNullable<Service['exit']>>()),
    failure: orNull(json<NonNullable<Service['failure']>>()),
    deathsMs: json<Service['deathsMs']>(),
    restartAtMs: orNull(number),
    errorMessage: orNull(text),
    history: json<Service['history']>(),
    logs: {
      read: (value) => (value === 1 ? 'forgotten' : 'kept'),
      write: (logs) => Number(logs === 'forgotten'),
    } as Kind<Service['logs']>,
  },
  { containerId: 'backend_id', logs: 'forgotten' },
);

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
  hostId: numberOrNull(row.host_id),
  preparing: '',
  ...columns.read(row),
});

export const insertService = (service: Service): Statement => ({
  sql: `INSERT INTO services (id, execution_id, name, service_group, host_id, ${columns.names})
    VALUES (?, ?, ?, ?, ?, ${columns.marks})`,
  args: [
    service.id,
    service.executionId,
    service.name,
    service.group,
    service.hostId,
    ...columns.values(service),
  ],
});

/**
 * `hasMoved`: another host was recorded. The index of services by host has a page for each host, which every
 * update with the host would write again.
 */
export const updateService = (service: Service, hasMoved: boolean): Statement =>
  hasMoved
    ? { sql: UPDATE_WITH_HOST, args: [service.hostId, ...columns.values(service), service.id] }
    : { sql: UPDATE, args: [...columns.values(service), service.id] };

const UPDATE = `UPDATE services SET ${columns.updated} WHERE id = ?`;
const UPDATE_WITH_HOST = `UPDATE services SET host_id = ?, ${columns.updated} WHERE id = ?`;
