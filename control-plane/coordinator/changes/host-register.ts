/** Changes of hosts: registration by an agent, and what administrators do. */
import type { CloseReason } from '../../../shared/protocol/close.ts';
import type { AgentRelease } from '../../../shared/protocol/release.ts';
import type { AuditEntry } from '../../core/accounts/audit.ts';
import { changeHost, type HostChanges } from '../../core/hosts/drain.ts';
import { type HostRemoval, removalBlocker, removeHost } from '../../core/hosts/host-removal.ts';
import { type Registration, type RegistrationRecords, register } from '../../core/hosts/registration.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Host } from '../../core/model/host.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { hostIn } from '../../core/views/host-view.ts';
import { findRegistrationRecords } from '../../store/accounts/join-tokens.ts';
import type { Db } from '../../store/db/db.ts';
import type { Turns } from '../turns.ts';

/** The agents that are connected. */
interface Agents {
  session(hostId: number): Session | undefined;
}

interface Session {
  update(release: AgentRelease): void;
  close(reason: CloseReason, detail: string): void;
}

export class HostRegister {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #agents: Agents;

  constructor(db: Db, turns: Turns, agents: Agents) {
    this.#db = db;
    this.#turns = turns;
    this.#agents = agents;
  }

  /** Resolves to the id of the host. */
  register(registration: Registration): Promise<number> {
    const { tokenHash, publicKey } = registration;
    return new Promise((resolve, reject) => {
      let records: RegistrationRecords;
      let host: Host;
      this.#turns.enqueue({
        read: async () => {
          records = await findRegistrationRecords(this.#db, tokenHash, publicKey);
        },
        run: (cluster, nowMs) => {
          host = register(cluster, registration, records, nowMs);
        },
        done: () => resolve(host.id),
        fail: reject,
      });
    });
  }

  change(hostId: number, changes: HostChanges, entry?: AuditEntry): Promise<void> {
    return this.#turns.update((cluster, nowMs) => {
      const host = hostIn(cluster, hostId);
      changeHost(cluster, host, changes);
      record(cluster, host, entry, nowMs);
    });
  }

  /** Throws `conflict` if something prevents the removal. */
  async remove(hostId: number, force: boolean, entry?: AuditEntry): Promise<HostRemoval> {
    const removal = await this.#turns.update((cluster, nowMs) => {
      const host = hostIn(cluster, hostId);
      const blocker = removalBlocker(cluster, host, force);
      if (blocker !== null) throw new OperationError('conflict', blocker);
      record(cluster, host, entry, nowMs);
      return removeHost(cluster, host, nowMs);
    });
    this.#agents.session(hostId)?.close('revoked', 'this host was removed');
    return removal;
  }

  /** Throws `conflict` if the agent cannot be asked to update itself. */
  updateAgent(hostId: number, release: AgentRelease, entry?: AuditEntry): Promise<void> {
    return this.#turns.update((cluster, nowMs) => {
      const host = hostIn(cluster, hostId);
      const { name } = host;
      const session = this.#agents.session(hostId);
      if (!session) throw new OperationError('conflict', `The agent of host ${name} is not connected.`);
      // The condition is of an earlier update, and must not be taken for one of this.
      host.conditions = host.conditions.filter(({ kind }) => kind !== 'update-failed');
      cluster.changes.conditions.add(host);
      record(cluster, host, entry, nowMs);
      session.update(release);
    });
  }
}

/** Adds the entry of a change of the host to what the turn commits. */
function record(
  { changes }: Cluster,
  { id, name }: Host,
  entry: AuditEntry | undefined,
  nowMs: number,
): void {
  if (entry) changes.audited.push({ entry: { ...entry, targetId: id, targetName: name }, timeMs: nowMs });
}
