/**
 * Registration of hosts: one host and one key for each join token (PROTOCOL.md P16, P17; HOST-1, HOST-2).
 * Pure.
 */

import type { Origin } from '../accounts/account.ts';
import { entryWithoutUser } from '../accounts/audit.ts';
import { OperationError } from '../model/errors.ts';
import { type Host, newHost, setLabels } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';

/** How long a join token is valid. */
export const JOIN_TOKEN_MS = 3_600_000;

/** What an agent sends to register. */
export interface Registration {
  /** SHA-256 of the join token. */
  tokenHash: string;
  name: string;
  /** The agent's Ed25519 key, base64url. */
  publicKey: string;
  origin?: Origin | undefined;
}

/** What the database has about a registration. */
export interface RegistrationRecords {
  token: JoinToken | undefined;
  /** The host that already has the key. */
  holder: { id: number; removed: boolean } | undefined;
}

export interface JoinToken {
  /** The only host name that the token is valid for; null is any name. */
  name: string | null;
  /** Labels that the host gets from the administrator. */
  labels: readonly string[];
  expiresMs: number;
  /** The host that the token created; null while the token is unused. */
  hostId: number | null;
}

/** A proof for one connection of a host. Everything but its single use has been verified. */
export interface VerifiedProof {
  hostId: number;
  proofId: string;
  /** When the proof expires, with the tolerated clock difference included. */
  expiresMs: number;
  /** Where the connection comes from, as far as it is known. */
  address?: string | undefined;
  /**
   * The key that has verified the proof, if the database was not asked for it. The proof counts only if the
   * coordinator has the same key for the host.
   */
  rememberedKey?: string;
}

/**
 * Creates the host, or returns it again if the answer to the same registration was lost. Throws
 * OperationError: `bad-token` for a token that is unknown, expired or used; `forbidden` for a name that the
 * token is not valid for; `revoked` for the key of a removed host; `conflict` for a name that is taken.
 */
export function register(
  cluster: Cluster,
  { tokenHash, name, publicKey, origin }: Registration,
  { token, holder }: RegistrationRecords,
  nowMs: number,
): Host {
  assertUsable(token, nowMs);
  const existing = keyHolder(cluster, publicKey, holder);
  const usedFor = cluster.changes.usedTokens.get(tokenHash)?.id ?? token.hostId;
  if (usedFor !== null) {
    if (existing?.id === usedFor) return existing;
    throw badToken('has been used');
  }
  if (token.name !== null && token.name !== name) {
    const remedy = `Set BERTH_AGENT_NAME=${token.name}, or create a join token without a name`;
    throw new OperationError(
      'forbidden',
      `The join token is valid for the host ${token.name}, not ${name}. ${remedy}.`,
    );
  }
  const host = existing ?? hostFor(cluster, name, nowMs);
  if (host.name !== name) {
    const remedy = `Set BERTH_AGENT_NAME=${host.name}, or delete the key from the agent's data folder and register a new host`;
    throw new OperationError('conflict', `The key belongs to the host ${host.name}, not ${name}. ${remedy}.`);
  }
  if (host.publicKey !== null && host.publicKey !== publicKey) throw nameTaken(name);
  host.publicKey = publicKey;
  // The token of an administrator covers what the host offers next.
  host.agreed = null;
  host.engineId = null;
  setLabels(host, { adminLabels: [...new Set([...host.adminLabels, ...token.labels])] });
  if (!cluster.hosts.has(host.id)) addHost(cluster, host);
  cluster.changes.hosts.add(host);
  cluster.changes.usedTokens.set(tokenHash, host);
  const deed = { action: 'register-host', targetId: host.id, targetName: name } as const;
  cluster.changes.audited.push({ entry: entryWithoutUser('join-token', origin, deed), timeMs: nowMs });
  return host;
}

/**
 * Throws OperationError if the join token is unknown or expired. A used token passes, because its own agent
 * may send it again.
 */
export function assertUsable(token: JoinToken | undefined, nowMs: number): asserts token is JoinToken {
  if (!token || token.expiresMs <= nowMs) throw badToken('is unknown or has expired');
}

function keyHolder(
  cluster: Cluster,
  publicKey: string,
  holder: RegistrationRecords['holder'],
): Host | undefined {
  if (!holder) {
    // The key may have got its host earlier in this turn.
    return [...cluster.changes.hosts].find((host) => host.publicKey === publicKey);
  }
  const host = cluster.hosts.get(holder.id);
  // That host may have been removed earlier in this turn.
  if (!host || holder.removed) throw revoked();
  return host;
}

/** A host of that name without a key, or a new one, which is not among the cluster's hosts yet. */
const hostFor = (cluster: Cluster, name: string, nowMs: number): Host =>
  cluster.hostNamed(name) ?? newHost(cluster.nextIds.host, name, nowMs);

function addHost(cluster: Cluster, host: Host): void {
  cluster.nextIds.host += 1;
  cluster.addHost(host);
  cluster.changes.newHosts.add(host);
}

const badToken = (what: string) =>
  new OperationError(
    'bad-token',
    `The join token ${what}. Ask an administrator for a new one (POST host/token); it is valid for one host and one hour.`,
  );

const nameTaken = (name: string) =>
  new OperationError(
    'conflict',
    `Another host has the name ${name}. Remove that host, or set another name with BERTH_AGENT_NAME.`,
  );

/** The error for the agent of a removed host. */
export const revoked = () =>
  new OperationError(
    'revoked',
    "This host was removed from the cluster. To join again, delete the key from the agent's data folder and use a new join token.",
  );
