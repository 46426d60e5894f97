/**
 * A gateway: holds the sockets of some hosts, decodes and bounds what their agents send, and relays messages
 * to the coordinator and back in batches. Serves readers of logs directly. It decides nothing: whatever it
 * and the coordinator disagree about ends the connection of that host, whose agent says hello anew (P172).
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { MAX_LOG_STREAMS } from '../../../shared/protocol/codec.ts';
import type { LogFormat } from '../../../shared/protocol/down.ts';
import type { AgentConnection, SessionMessage } from '../agents/agent-connection.ts';
import { closeArguments } from '../agents/agent-connection.ts';
import { AgentConnections, type ConnectionDeps } from '../agents/agent-connections.ts';
import type { GatewayAddress } from '../agents/session-peer.ts';
import type { AgentSocket, Clock } from '../ports.ts';
import { BatchSender } from './batch-sender.ts';
import { GatewayLog } from './gateway-log.ts';
import { newEntries, type Portion, type Rejected } from './portion.ts';

export interface GatewayOptions extends ConnectionDeps {
  clock: Pick<Clock, 'nowMs' | 'after'>;
  /** Passes a batch to the coordinator. */
  up(batch: Portion<SessionMessage>[]): Promise<Rejected>;
  /** What may wait for the coordinator, in UTF-16 units of the agents' messages. */
  maxWaitingLength: number;
  /** For so long, reports that only show that the agent lives wait for others (P177). */
  holdMs: number;
}

/** How many entries a connection has had in each direction. */
export interface EntryCounts {
  up: number;
  /** Those of `up` that the coordinator has. */
  delivered: number;
  down: number;
}

export const NO_ENTRIES: EntryCounts = { up: 0, delivered: 0, down: 0 };
/** Closing fields have no meaning for the coordinator. */
const GONE = { code: 1006, reason: '' };

/** A report of nothing but the usage of the host. */
const isSignOfLife = (message: SessionMessage): boolean =>
  message.type === 'report' &&
  message.observations.length + message.forgotten.length === 0 &&
  message.conditions === undefined &&
  message.swarm === undefined;

interface Held {
  connection: AgentConnection;
  hostId: number;
  counts: EntryCounts;
  /** The coordinator has ended the connection, or never had it. */
  isOver: boolean;
  changed(counts: EntryCounts): void;
  /** Called when messages have arrived, or the connection is over. */
  waiting: (() => void)[];
}

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #connections: AgentConnections;
  readonly #sender: BatchSender<SessionMessage>;
  /** By id of the connection. */
  readonly #held = new Map<string, Held>();
  /** The open logs, by ids of their readers. */
  readonly #logs = new Map<string, GatewayLog>();
  /** Names of hosts, as their last hello gives them. */
  readonly #names = new Map<number, string>();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#connections = new AgentConnections(options, (hostId) => this.#names.get(hostId) ?? hostId);
    this.#sender = new BatchSender({
      ...options,
      to: 'coordinator',
      send: options.up,
      delivered: (id, count) => {
        const held = this.#held.get(id);
        if (held) this.#count(held, { delivered: count });
      },
      lost: (id) => this.#end(id, 'resync', 'the coordinator does not have this connection'),
    });
  }

  /**
   * Accepts a connection that the coordinator has admitted with this id, or takes one back after the gateway
   * has slept. The caller must pass it its frames, and the end of the socket. `changed` receives its counts
   * whenever they change.
   */
  open(
    socket: AgentSocket,
    hostId: number,
    id: string,
    changed: (counts: EntryCounts) => void,
    counts = NO_ENTRIES,
  ): AgentConnection {
    this.#sender.begin(id, counts.up);
    const connection = this.#connections.connect(socket, hostId, () => ({
      receive: (message, length) => this.#receive(id, message, length),
      closed: () => this.#closed(id),
    }));
    this.#held.set(id, { connection, hostId, counts, isOver: false, changed, waiting: [] });
    // What waited was lost with the memory of the gateway.
    if (counts.delivered < counts.up)
      connection.close(...closeArguments('resync', 'the gateway has restarted'));
    return connection;
  }

  /**
   * A batch from the coordinator. Connections of another coordinator than `incarnation` end: it has lost its
   * memory of them.
   */
  down(incarnation: string, batch: readonly Portion<string>[]): Rejected {
    for (const id of [...this.#held.keys()])
      if (!id.startsWith(`${incarnation}.`)) this.#end(id, 'resync', 'the coordinator has restarted');
    return batch.flatMap((portion) => (this.#accept(portion) ? [] : [portion.connection]));
  }

  /**
   * Waits for the messages that the coordinator has sent before, such as the start itself. Then streams the
   * output of one start in frames (core/streams/log-frames.ts), with a note at its end. Resolves to undefined
   * if the connection has ended, and to `full` if the host serves its maximum. `reader` is an id that the
   * caller has made for this call.
   */
  async openLog(
    { connection: id, sent }: Pick<GatewayAddress, 'connection' | 'sent'>,
    reader: string,
    key: ServiceKey,
    offset: number,
    format: LogFormat,
  ): Promise<ReadableStream<Uint8Array> | 'full' | undefined> {
    await this.#arrived(id, sent);
    const held = this.#held.get(id);
    if (!held) return undefined;
    if (held.connection.openLogs >= MAX_LOG_STREAMS) return 'full';
    const log = new GatewayLog(held.connection, key, offset, format, this.#options.clock, () =>
      this.#logs.delete(reader),
    );
    this.#logs.set(reader, log);
    return log.stream;
  }

  /** Closes the log of a reader that leaves. */
  closeLog(reader: string): void {
    this.#logs.get(reader)?.close();
  }

  /** Resolves once that many messages of the coordinator have arrived, or the connection is over. */
  async #arrived(id: string, sent: number): Promise<void> {
    for (let held = this.#held.get(id); held && held.counts.down < sent; held = this.#held.get(id)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.waiting.push(resolve);
      await promise;
    }
  }

  #receive(id: string, message: SessionMessage, length: number): void {
    const held = this.#held.get(id);
    if (!held) return;
    if (message.type === 'hello') this.#names.set(held.hostId, message.host.name);
    if (this.#sender.waitingLength + length > this.#options.maxWaitingLength) {
      this.#options.log('gateway.overfull', { host: this.#names.get(held.hostId) ?? held.hostId });
      this.#sender.close(id, GONE, true);
      held.connection.close(...closeArguments('unavailable', 'the coordinator does not keep up'));
      return;
    }
    this.#sender.add(id, message, length, isSignOfLife(message) ? this.#options.holdMs : 0);
    this.#count(held, { up: this.#sender.count(id) });
  }

  #accept(portion: Portion<string>): boolean {
    const { connection: id, closing } = portion;
    const held = this.#held.get(id);
    if (!held) return false;
    const entries = newEntries(portion, held.counts.down);
    if (!entries) {
      this.#end(id, 'resync', 'messages of the coordinator are missing');
      return false;
    }
    this.#count(held, { down: held.counts.down + entries.length });
    for (const text of entries) held.connection.send(text);
    for (const resolve of held.waiting.splice(0)) resolve();
    if (closing) {
      held.isOver = true;
      held.connection.close(closing.code, closing.reason);
    }
    return true;
  }

  #count(held: Held, counts: Partial<EntryCounts>): void {
    held.counts = { ...held.counts, ...counts };
    held.changed(held.counts);
  }

  /** Ends a connection of which the coordinator need not be informed. */
  #end(id: string, reason: 'resync', detail: string): void {
    const held = this.#held.get(id);
    if (!held) return;
    held.isOver = true;
    held.connection.close(...closeArguments(reason, detail));
  }

  #closed(id: string): void {
    const held = this.#held.get(id);
    this.#held.delete(id);
    for (const resolve of held?.waiting ?? []) resolve();
    if (held?.isOver) this.#sender.forget(id);
    else this.#sender.close(id, GONE);
  }
}
