/**
 * The coordinator's end of all gateways: gives each connection its id, passes on the messages of agents in
 * their order, and sends what the coordinator has committed (P171).
 */
import { closeCodes } from '../../../shared/protocol/close.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { AgentSession, SessionOrigin } from '../agents/agent-session.ts';
import type { SessionMessage } from '../connections/agent-connection.ts';
import type { SessionPeer } from '../connections/session-peer.ts';
import { addBytes, type PassedBytes } from '../connections/traffic.ts';
import type { Clock, Logger } from '../ports.ts';
import type { SavedLinks, SavedSession } from '../sleep/saved-state.ts';
import { BatchSender, inTime } from './batch-sender.ts';
import { newEntries, type Portion, type Rejected } from './portion.ts';

export interface GatewayLinksOptions {
  agents: {
    readonly traffic: PassedBytes;
    admit(proof: VerifiedProof): void;
    attach(peer: SessionPeer, hostId: number, origin: SessionOrigin): Session;
    saved: {
      resume(peer: SessionPeer, session: SavedSession): Session;
      has(hostId: number): boolean;
      save(hostId: number): SavedSession | undefined;
    };
  };
  /** The key of a host, as far as the coordinator has its state in memory. */
  keyOf(hostId: number): string | undefined;
  clock: Pick<Clock, 'after'>;
  log: Logger;
  /** Identifies this coordinator among all that ever ran: its memory holds the sessions. */
  incarnation: string;
  /** Passes a batch to a gateway. */
  down(gateway: number, incarnation: string, batch: Portion<string>[]): Promise<Rejected>;
  /** What may wait for all gateways, in UTF-16 units of the messages. */
  maxWaitingLength: number;
}

/** What the links use of a session. */
type Session = Pick<AgentSession, 'hostId' | 'isClosed' | 'receive' | 'closed'>;

/** A connection without a message for that long may never have come about at its gateway. */
const SILENT_MS = 60_000;
/** The pause before a gateway that has not answered is told again which connections have ended. */
const TELL_AGAIN_MS = 10_000;

interface Attached {
  session: Session;
  gateway: number;
  /** Entries of the agent that have arrived. */
  received: number;
  /** Whether a message has arrived. */
  isHeard: boolean;
  /** Cancels the end of a connection without a message. */
  heard(): void;
}

export class GatewayLinks {
  readonly #options: GatewayLinksOptions;
  /** By id of the connection. */
  readonly #attached = new Map<string, Attached>();
  /** Connections that have ended, of which their gateways are told later. */
  readonly #ending = new Set<string>();
  /** Gateways that may have connections of an earlier coordinator. */
  readonly #ungreeted = new Set<number>();
  readonly #senders = new Map<number, BatchSender<string>>();
  #connections = 0;

  constructor(options: GatewayLinksOptions) {
    this.#options = options;
  }

  /** Number of connections that have been admitted and have not ended. */
  get connections(): number {
    return this.#attached.size;
  }

  /** The gateways with connections. */
  get gateways(): number[] {
    return [...new Set(Array.from(this.#attached.values(), ({ gateway }) => gateway))];
  }

  /**
   * Admits a host to one connection at its gateway. Throws OperationError if the proof was used before, and
   * `unknown-host` if the coordinator can't confirm the key that has verified it.
   */
  admit(gateway: number, proof: VerifiedProof): string {
    const { agents, keyOf, clock, incarnation } = this.#options;
    if (proof.rememberedKey !== undefined && proof.rememberedKey !== keyOf(proof.hostId))
      throw new OperationError('unknown-host', 'The coordinator does not have this key for the host.');
    agents.admit(proof);
    this.#connections += 1;
    const id = `${incarnation}.${this.#connections}`;
    this.#senderOf(gateway).begin(id);
    const session = agents.attach(this.#peer(gateway, id), proof.hostId, { address: proof.address });
    if (session.isClosed) return id;
    const heard = clock.after(SILENT_MS, () => this.#lost(id));
    this.#attached.set(id, { session, gateway, received: 0, isHeard: false, heard });
    return id;
  }

  /** A batch from a gateway, and the bytes that have passed through it since the last one. */
  up(batch: readonly Portion<SessionMessage>[], passed: PassedBytes): Rejected {
    addBytes(this.#options.agents.traffic, passed);
    return batch.flatMap((portion) => (this.#accept(portion) ? [] : [portion.connection]));
  }

  /** What a coordinator that sleeps keeps of the connections. Undefined: something is under way (C232). */
  saved(): SavedLinks | undefined {
    const { agents, incarnation } = this.#options;
    const all = [...this.#attached];
    const isIdle =
      this.#ending.size + this.#ungreeted.size === 0 &&
      [...this.#senders.values()].every((sender) => sender.isIdle);
    const hosts = new Set(all.map(([, { session }]) => session.hostId));
    // Checked first, since it is asked often.
    const mayBeSaved = all.every(([, { session, isHeard }]) => isHeard && agents.saved.has(session.hostId));
    if (!isIdle || !mayBeSaved || hosts.size < all.length) return undefined;
    const connections = all.flatMap(([id, { session, gateway, received }]) => {
      const saved = agents.saved.save(session.hostId);
      return saved ? { id, gateway, received, sent: this.#senderOf(gateway).count(id), session: saved } : [];
    });
    return { incarnation, admitted: this.#connections, connections };
  }

  /** Goes on with the connections that a coordinator had before it slept. */
  resume({ admitted, connections }: SavedLinks): void {
    this.#connections = admitted;
    for (const { id, gateway, received, sent, session: saved } of connections) {
      this.#senderOf(gateway).begin(id, sent);
      const session = this.#options.agents.saved.resume(this.#peer(gateway, id), saved);
      this.#attached.set(id, { session, gateway, received, isHeard: true, heard: () => {} });
    }
  }

  /** Makes the gateways end the connections that an earlier coordinator has left (P173). */
  greet(gateways: Iterable<number>): void {
    for (const gateway of new Set(gateways)) {
      this.#ungreeted.add(gateway);
      void this.#greet(gateway);
    }
  }

  async #greet(gateway: number): Promise<void> {
    const { down, incarnation, clock, log } = this.#options;
    for (let attempt = 1; ; attempt++)
      try {
        await inTime(down(gateway, incarnation, []), clock);
        this.#ungreeted.delete(gateway);
        return;
      } catch (error) {
        const to = `gateway ${gateway}`;
        log('gateway.call-failed', { to, connections: 0, attempt, error: String(error) });
        await new Promise<void>((resolve) => clock.after(TELL_AGAIN_MS, resolve));
      }
  }

  #accept(portion: Portion<SessionMessage>): boolean {
    const { connection: id, closing } = portion;
    const attached = this.#attached.get(id);
    if (!attached) return false;
    const { session } = attached;
    const entries = newEntries(portion, attached.received);
    if (!entries) {
      this.#lost(id);
      return false;
    }
    attached.heard();
    attached.isHeard = true;
    attached.received += entries.length;
    for (const message of entries) session.receive(message);
    if (closing) this.#lost(id, closing.silentMs);
    return true;
  }

  #peer(gateway: number, id: string): SessionPeer {
    const sender = this.#senderOf(gateway);
    return {
      send: (text) => {
        if (this.#waitingLength() + text.length > this.#options.maxWaitingLength) this.#overfull(id);
        else sender.add(id, text, text.length);
      },
      close: (code, reason) => sender.close(id, { code, reason }),
      isWatching: true,
      get gateway() {
        return { gateway, connection: id, sent: sender.count(id) };
      },
    };
  }

  #waitingLength(): number {
    let length = 0;
    for (const sender of this.#senders.values()) length += sender.waitingLength;
    return length;
  }

  /** Nothing that waits for the connection is sent: its agent says hello anew. */
  #overfull(id: string): void {
    const attached = this.#attached.get(id);
    if (!attached) return;
    const { session, gateway } = attached;
    this.#options.log('gateway.overfull', { host: session.hostId });
    this.#senderOf(gateway).close(id, { code: 4503, reason: 'the gateway does not keep up' }, true);
    session.closed();
  }

  /** The connection is over at its gateway, after `silentMs` without a sign of life. */
  #lost(id: string, silentMs?: number): void {
    const attached = this.#attached.get(id);
    if (!attached) return;
    attached.heard();
    this.#attached.delete(id);
    this.#senderOf(attached.gateway).forget(id);
    attached.session.closed(silentMs);
  }

  /**
   * The gateway may still have the connection, whose agent would never notice: it is told until it answers.
   */
  #endLater(gateway: number, id: string): void {
    this.#ending.add(id);
    this.#options.clock.after(TELL_AGAIN_MS, () => {
      this.#ending.delete(id);
      const sender = this.#senderOf(gateway);
      sender.begin(id);
      sender.close(id, { code: closeCodes.resync.code, reason: 'messages of the coordinator were lost' });
    });
  }

  #senderOf(gateway: number): BatchSender<string> {
    const { clock, log, down, incarnation } = this.#options;
    const sender =
      this.#senders.get(gateway) ??
      new BatchSender<string>({
        clock,
        log,
        to: `gateway ${gateway}`,
        send: (batch) => down(gateway, incarnation, batch),
        lost: (id, isKnown) => {
          this.#lost(id);
          if (!isKnown) this.#endLater(gateway, id);
        },
        ended: (id, isKnown) => {
          this.#attached.get(id)?.heard();
          this.#attached.delete(id);
          if (!isKnown) this.#endLater(gateway, id);
        },
      });
    this.#senders.set(gateway, sender);
    return sender;
  }
}
