/**
 * The channels of one connection at a gateway, for a reader in another object: each has a socket to the
 * gateway, which closes with the reader. The output of services does not pass the coordinator (P174).
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { ChannelDown } from '../../../shared/protocol/down.ts';
import type { ChannelTarget } from '../../../shared/streams/targets.ts';
import type { WindowLink, WindowMemory } from '../../../shared/streams/window.ts';
import type { ObjectSocket, SocketEvents } from '../connections/object-socket.ts';
import type { ChannelPort, ChannelSink } from '../connections/open-channels.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';
import type { Clock } from '../ports.ts';
import { inTime } from './batch-sender.ts';
import type { ChannelRequest } from './passed-channel.ts';

/**
 * Opens a socket to a gateway. Resolves to `full` if the host serves its maximum, and to undefined if the
 * gateway does not have the connection.
 */
export type DialGateway = (
  gateway: number,
  request: ChannelRequest,
  events: SocketEvents,
) => Promise<ObjectSocket | 'full' | undefined>;

/** A gateway that does not serve a channel is tried again after that time. */
const RETRY_MS = 1_000;

interface Dialled {
  sink: ChannelSink;
  socket: ObjectSocket | undefined;
  /** What was sent before the socket was open. */
  waiting: (string | Uint8Array)[];
}

export interface GatewayChannelsOptions {
  at: GatewayAddress;
  dial: DialGateway;
  clock: Pick<Clock, 'after' | 'monotonicMs'>;
  memory: WindowMemory;
  /** Why a channel is not opened at a host that serves its maximum. */
  full: string;
  /** Called when the gateway may be tried again. */
  free?: (() => void) | undefined;
}

export class GatewayChannels implements ChannelPort {
  /** The latest address of the connection. */
  at: GatewayAddress;
  /** True for a time after the gateway did not serve a channel. */
  isResting = false;
  /** The host serves its maximum. */
  isFull = false;
  /** Resolves once the first channel is open, or is not. */
  answered: Promise<void> = Promise.resolve();
  readonly link: WindowLink;
  readonly isBehind = false;
  readonly outputs = 0;
  readonly streams = 0;
  readonly #options: GatewayChannelsOptions;
  readonly #open = new Map<number, Dialled>();
  #opened = 0;

  constructor(options: GatewayChannelsOptions) {
    this.#options = options;
    this.at = options.at;
    const nowMs = () => options.clock.monotonicMs();
    this.link = { memory: options.memory, nowMs, isPassedOn: true };
  }

  open(key: ServiceKey, target: ChannelTarget, credit: number, sink: ChannelSink, ended?: true): number {
    const { dial, clock } = this.#options;
    const channel = ++this.#opened;
    const dialled: Dialled = { sink, socket: undefined, waiting: [] };
    this.#open.set(channel, dialled);
    const { gateway, connection, sent } = this.at;
    const events: SocketEvents = {
      message: (data) => this.#receive(channel, data),
      closed: () => this.#lost(channel),
    };
    const answer = dial(gateway, { at: { connection, sent }, key, target, credit, ended }, events).then(
      (socket) => this.#dialled(channel, socket),
    );
    this.answered = inTime(answer, clock).catch(() => this.#lost(channel));
    return channel;
  }

  send(message: ChannelDown): void {
    this.#send(message.channel, JSON.stringify(message));
  }

  sendBytes(channel: number, payload: Uint8Array): void {
    this.#send(channel, payload);
  }

  close(channel: number): void {
    const dialled = this.#open.get(channel);
    this.#open.delete(channel);
    dialled?.socket?.close();
  }

  closeAll(): void {
    for (const channel of [...this.#open.keys()]) this.close(channel);
  }

  /** The answer may come after the channel is over. */
  #dialled(channel: number, socket: ObjectSocket | 'full' | undefined): void {
    const dialled = this.#open.get(channel);
    if (socket === 'full') this.#refused(channel);
    else if (!socket) this.#lost(channel);
    else if (!dialled) socket.close();
    else {
      dialled.socket = socket;
      for (const data of dialled.waiting.splice(0)) socket.send(data);
    }
  }

  #refused(channel: number): void {
    this.isFull = true;
    const message = this.#options.full;
    this.#open.get(channel)?.sink.message({ type: 'channel.reset', channel, refused: true, message });
    this.#open.delete(channel);
  }

  #send(channel: number, data: string | Uint8Array): void {
    const dialled = this.#open.get(channel);
    if (dialled?.socket) dialled.socket.send(data);
    else dialled?.waiting.push(data);
  }

  #receive(channel: number, data: string | Uint8Array): void {
    const { sink, socket } = this.#open.get(channel) ?? {};
    const isAllowed = typeof data === 'string' ? sink?.message(JSON.parse(data)) : sink?.chunk(data);
    if (isAllowed !== false) return;
    socket?.close();
    this.#lost(channel);
  }

  /** The socket has closed, or was never open. */
  #lost(channel: number): void {
    const dialled = this.#open.get(channel);
    if (!dialled) return;
    this.#open.delete(channel);
    this.#rest();
    dialled.sink.detached();
  }

  #rest(): void {
    this.isResting = true;
    this.#options.clock.after(RETRY_MS, () => {
      this.isResting = false;
      this.#options.free?.();
    });
  }
}
