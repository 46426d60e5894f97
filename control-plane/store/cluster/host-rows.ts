/** Rows of hosts. */
import { allLabels, type Host, type HostOffer, unknownFacts, unreserved } from '../../core/model/host.ts';
import type { Row, Statement } from '../db/db.ts';

export function hostOf(row: Row): Host {
  const agentLabels: string[] = JSON.parse(String(row.labels));
  const adminLabels: string[] = JSON.parse(String(row.admin_labels));
  return { ...fieldsOf(row), agentLabels, adminLabels, labels: allLabels({ agentLabels, adminLabels }) };
}

const fieldsOf = (row: Row) => ({
  id: Number(row.id),
  name: String(row.name),
  publicKey: row.public_key === null ? null : String(row.public_key),
  address: String(row.address),
  memoryBytes: Number(row.memory_bytes),
  cores: Number(row.cores),
  agreed: row.agreed === null ? null : (JSON.parse(String(row.agreed)) as HostOffer),
  schedulable: row.schedulable === 1,
  agentVersion: String(row.agent_version),
  engineVersion: String(row.engine_version),
  engineId: row.engine_id === null ? null : String(row.engine_id),
  lastContactMs: Number(row.last_contact_ms),
  heardMs: Number(row.last_contact_ms),
  lost: row.lost === 1,
  silentSinceMs: row.silent_since_ms === null ? null : Number(row.silent_since_ms),
  leaseMs: row.lease_ms === null ? null : Number(row.lease_ms),
  ...unknownFacts,
  ...unreserved,
});

export const insertHost = (host: Host): Statement => ({
  sql: `INSERT INTO hosts (address, labels, admin_labels, memory_bytes, cores, schedulable, agent_version, engine_version,
    last_contact_ms, lost, public_key, silent_since_ms, lease_ms, agreed, engine_id, name, id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  args: [...values(host), host.name, host.id],
});

export const updateHost = (host: Host): Statement => ({
  sql: `UPDATE hosts SET address = ?, labels = ?, admin_labels = ?, memory_bytes = ?, cores = ?, schedulable = ?, agent_version = ?,
    engine_version = ?, last_contact_ms = ?, lost = ?, public_key = ?, silent_since_ms = ?, lease_ms = ?, agreed = ?, engine_id = ? WHERE id = ?`,
  args: [...values(host), host.id],
});

/**
 * Frees the name of a removed host. The row stays for the services that refer to it, with the former name for
 * their logs.
 */
export const hideHost = ({ id }: Host, removedMs: number): Statement => ({
  sql: `UPDATE hosts SET removed_ms = ?, removed_name = name, name = 'removed:' || id || ':' || hex(randomblob(8))
    WHERE id = ? AND removed_ms IS NULL`,
  args: [removedMs, id],
});

const values = (host: Host) => [
  host.address,
  JSON.stringify(host.agentLabels),
  JSON.stringify(host.adminLabels),
  host.memoryBytes,
  host.cores,
  Number(host.schedulable),
  host.agentVersion,
  host.engineVersion,
  host.heardMs,
  Number(host.lost),
  host.publicKey,
  host.silentSinceMs,
  host.leaseMs,
  host.agreed && JSON.stringify(host.agreed),
  host.engineId,
];
