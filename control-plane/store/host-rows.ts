/** Owns the rows of hosts. */
import { type Host, unreserved, untold } from '../core/host.ts';
import type { Row, Statement } from './db.ts';

export const hostOf = (row: Row): Host => ({
  id: Number(row.id),
  name: String(row.name),
  address: String(row.address),
  labels: JSON.parse(String(row.labels)),
  memoryBytes: Number(row.memory_bytes),
  cores: Number(row.cores),
  schedulable: row.schedulable === 1,
  agentVersion: String(row.agent_version),
  engineVersion: String(row.engine_version),
  lastContactMs: Number(row.last_contact_ms),
  lost: row.lost === 1,
  ...untold,
  ...unreserved,
});

export const insertHost = (host: Host): Statement => ({
  sql: `INSERT INTO hosts (address, labels, memory_bytes, cores, schedulable, agent_version, engine_version,
    last_contact_ms, lost, name, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  args: [...values(host), host.name, host.id],
});

export const updateHost = (host: Host): Statement => ({
  sql: `UPDATE hosts SET address = ?, labels = ?, memory_bytes = ?, cores = ?, schedulable = ?, agent_version = ?,
    engine_version = ?, last_contact_ms = ?, lost = ? WHERE id = ?`,
  args: [...values(host), host.id],
});

const values = (host: Host) => [
  host.address,
  JSON.stringify(host.labels),
  host.memoryBytes,
  host.cores,
  Number(host.schedulable),
  host.agentVersion,
  host.engineVersion,
  host.lastContactMs,
  Number(host.lost),
];
