/** Owns who becomes a host, and with which key: one registration for each join token (PROTOCOL.md P16, P17). Pure. */

import { OperationError } from '../model/errors.ts';
import { type Host, newHost, setLabels } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';

/** How long a join token may be used. */
export const JOIN_TOKEN_MS = 3_600_000;

/** What an agent asks for. */
export interface Registration {
  /** Of the join token. */
  tokenHash: string;
  name: string;
  /** Of its Ed25519 key, base64url. */
  publicKey: string;
}

/** What the database has on a registration. */
export interface RegistrationRecords {
  token: JoinToken | undefined;
  /** Whose the key is already. */
  holder: { id: number; removed: boolean } | undefined;
}

export interface JoinToken {
  /** The only host name it is good for; null: any. */
  name: string | null;
  /** What an administrator wants the host labelled with. */
  labels: readonly string[];
  expiresMs: number;
  /** The host that it made; null while it was not used. */
  hostId: number | null;
}

/** Proof of one connection of a host, checked already but for its single use. */
export interface VerifiedProof {
  hostId: number;
  /** The id of the proof. */
  proofId: string;
  /** When it is worth nothing any more, whatever the clocks. */
  expiresMs: number;
}

/**
 * Makes the host, or finds it where the answer to the same registration got lost. Throws OperationError: `bad-token` for a
 * token that is not known, has expired or is used up, `forbidden` for another's name, `revoked`, and `conflict` for a name that is taken.
 */
export function register(
  cluster: Cluster,
  { tokenHash, name, publicKey }: Registration,
  { token, holder }: RegistrationRecords,
  nowMs: number,
): Host {
  assertUsable(token, nowMs);
  const known = keyHolder(cluster, publicKey, holder);
  const usedFor = cluster.changes.usedTokens.get(tokenHash)?.id ?? token.hostId;
  if (usedFor !== null) {
    if (known?.id === usedFor) return known;
    throw badToken('has been used up');
  }
  if (token.name !== null && token.name !== name) {
    const way = `set BERTH_AGENT_NAME=${token.name}, or ask for a token without a name`;
    throw new OperationError(
      'forbidden',
      `The join token is for the host ${token.name}, not ${name}: ${way}.`,
    );
  }
  const host = known ?? hostFor(cluster, name, nowMs);
  if (host.name !== name) {
    const way = `set BERTH_AGENT_NAME=${host.name}, or remove the key from the agent's data folder to make another host`;
    throw new OperationError('conflict', `The key is that of the host ${host.name}, not ${name}: ${way}.`);
  }
  if (host.publicKey !== null && host.publicKey !== publicKey) throw nameTaken(name);
  host.publicKey = publicKey;
  setLabels(host, { adminLabels: [...new Set([...host.adminLabels, ...token.labels])] });
  if (!cluster.hosts.has(host.id)) addHost(cluster, host);
  cluster.changes.hosts.add(host);
  cluster.changes.usedTokens.set(tokenHash, host);
  return host;
}

/** Throws OperationError for a join token with which nobody has anything to ask. A used one may still be its agent's. */
export function assertUsable(token: JoinToken | undefined, nowMs: number): asserts token is JoinToken {
  if (!token || token.expiresMs <= nowMs) throw badToken('is not known here or has expired');
}

function keyHolder(
  cluster: Cluster,
  publicKey: string,
  holder: RegistrationRecords['holder'],
): Host | undefined {
  if (!holder) {
    // Perhaps it has got its host in this very turn.
    return [...cluster.changes.hosts].find((host) => host.publicKey === publicKey);
  }
  const host = cluster.hosts.get(holder.id);
  // Perhaps that was removed in this very turn.
  if (!host || holder.removed) throw revoked();
  return host;
}

/** A host of that name that has no key yet, or a new one, which is not among the hosts yet. */
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
    `The join token ${what}. An administrator makes a new one by POST host/token; it is good for one host and one hour.`,
  );

const nameTaken = (name: string) =>
  new OperationError(
    'conflict',
    `Another host is called ${name}. Remove that host, or choose another name by BERTH_AGENT_NAME.`,
  );

/** For the agent of a host that was removed. */
export const revoked = () =>
  new OperationError(
    'revoked',
    "This host was removed from the cluster. To join again, get a new join token and remove the key from the agent's data folder.",
  );
