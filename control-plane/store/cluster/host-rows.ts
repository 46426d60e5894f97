/** Rows of hosts. */
import { allLabels, type Host, type HostOffer, unknownFacts, unreserved } from '../../core/model/host.ts';
import { Columns, flag, json, number, orNull, text } from '../db/columns.ts';
import type { Row, Statement } from '../db/db.ts';

const columns = new Columns(
  {
    address: text,
    agentLabels: json<readonly string[]>(),
    adminLabels: json<readonly string[]>(),
    memoryBytes: number,
    cores: number,
    schedulable: flag,
    agentVersion: text,
    engineVersion: text,
    heardMs: number,
    lost: flag,
    publicKey: orNull(text),
    silentSinceMs: orNull(number),
    leaseMs: orNull(number),
    agreed: orNull(json<HostOffer>()),
    engineId: orNull(text),
  },
  { agentLabels: 'labels', heardMs: 'last_contact_ms' },
);

export function hostOf(row: Row): Host {
  const stored = columns.read(row);
  return {
    ...stored,
    id: Number(row.id),
    name: String(row.name),
    lastContactMs: stored.heardMs,
    labels: allLabels(stored),
    ...unknownFacts,
    ...unreserved,
  };
}

export const insertHost = (host: Host): Statement => ({
  sql: `INSERT INTO hosts (name, id, ${columns.names}) VALUES (?, ?, ${columns.marks})`,
  args: [host.name, host.id, ...columns.values(host)],
});

export const updateHost = (host: Host): Statement => ({
  sql: `UPDATE hosts SET ${columns.updated} WHERE id = ?`,
  args: [...columns.values(host), host.id],
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
