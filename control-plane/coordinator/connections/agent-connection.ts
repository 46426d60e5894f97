/**
 * The near end of one agent's socket: decodes frames, holds the host to its allowance (P152), and carries
 * channels. Hellos and reports go on to the session of the host, which may be in another object.
 */
import { depthProblem } from '../../../shared/json-depth.ts';
import { type CloseReason, closeCodes } from '../../../shared/protocol/close.ts';
import {
  type Chunk,
  decodeChunk,
  decodeUp,
  encode,
  ProtocolError,
  VersionError,
} from '../../../shared/protocol/codec.ts';
import type { ChannelUp, Up } from '../../../shared/protocol/up.ts';
import { RETURN_MS } from '../../guard/allowance.ts';
import type { AgentSocket } from '../ports.ts';
import { OpenChannels, type SharedWindows } from './open-channels.ts';
import { noTraffic, type Traffic } from './traffic.ts';

/** A message for the session of the host: everything but what concerns channels. */
export type SessionMessage = Exclude<Up, ChannelUp>;

/** Receives the events of a connection. `closed` is called exactly once. */
export interface ConnectionEvents {
  /** `length`: of the frame, in UTF-16 units. */
  message(message: SessionMessage, length: number): void;
  /** The agent has sent what no channel permits. The connection closes after the call. */
  refused(what: string): void;
  /**
   * Counts a message of the host. `requested`: readers have caused it. Returns the time in ms until
   * the next one is within the host's allowance.
   */
  useAllowance(length: number, requested: boolean): number;
  closed(): void;
}

/** The depth of a frame is measured from this length on: only long ones can be deep enough to cost much. */
const SHALLOW_LENGTH = 64 * 1024;
/** The longest message of `channel.reset` in escapes, and its other fields. */
const SHORT_LENGTH = 13_000;

/** Clients of streams are read no further while more than this waits for the agent (H785). */
const MAX_UNSENT_BYTES = 1024 * 1024;

function decodeText(text: string): Up {
  const problem = text.length > SHALLOW_LENGTH ? depthProblem(text) : undefined;
  if (problem) throw new ProtocolError(`a text frame ${problem}`);
  return decodeUp(text);
}

/** The arguments with which a socket closes. A close reason holds at most 123 bytes. */
export const closeArguments = (reason: CloseReason, detail: string): [code: number, reason: string] => [
  closeCodes[reason].code,
  detail.replace(/[^ -~]/g, '?').slice(0, 120),
];

export class AgentConnection {
  readonly #socket: AgentSocket;
  readonly #events: ConnectionEvents;
  /** The channels that this connection carries. */
  readonly channels: OpenChannels;
  #closed = false;

  /**
   * `firstChannel`: see OpenChannels. `traffic` counts that of all connections, and `windows` is for them; by
   * default this one has its own.
   */
  constructor(
    socket: AgentSocket,
    events: ConnectionEvents,
    firstChannel: number,
    traffic: Traffic = noTraffic(),
    windows?: SharedWindows,
  ) {
    this.#socket = socket;
    this.#events = events;
    this.channels = new OpenChannels(
      {
        sendText: (message) => this.send(encode(message)),
        sendBytes: (frame) => this.#send(frame),
        isBehind: () => (socket.unsentBytes?.() ?? 0) > MAX_UNSENT_BYTES,
        refused: (what) => this.#refuse(what),
        traffic,
        ...(windows && { windows }),
      },
      firstChannel,
    );
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Receives one frame: a text message, or a chunk of a channel. */
  receive(data: string | Uint8Array): void {
    if (this.#closed) return;
    try {
      const chunk = typeof data === 'string' ? undefined : decodeChunk(data);
      // Only a short text can concern a channel, and to parse it costs as much as to count it.
      const short = typeof data === 'string' && data.length <= SHORT_LENGTH ? decodeText(data) : undefined;
      if (!this.#isAllowed(data.length, this.#isRequested(chunk, short))) return;
      if (chunk) this.channels.chunk(chunk);
      else this.#message(short ?? decodeText(data as string), data.length);
    } catch (error) {
      if (error instanceof VersionError) this.close(...closeArguments('version', error.message));
      else if (error instanceof ProtocolError) this.close(...closeArguments('badMessage', error.message));
      else throw error;
    }
  }

  /** The socket has closed, from either side. */
  closed(): void {
    if (this.#closed) return;
    this.#closed = true;
    const sinks = this.channels.detach();
    // Must come first: a sink that looks for a connection to continue with must not find this one.
    this.#events.closed();
    for (const sink of sinks) sink.detached();
  }

  close(code: number, reason: string): void {
    if (this.#closed) return;
    this.#socket.close(code, reason);
    this.closed();
  }

  send(text: string): void {
    this.#send(text);
  }

  #send(data: string | Uint8Array): void {
    if (this.#closed) return;
    try {
      this.#socket.send(data);
    } catch {
      // The runtime has noticed the closed socket first; its close event may come late.
      this.closed();
    }
  }

  #isRequested(chunk: Chunk | undefined, message: Up | undefined): boolean {
    if (chunk) return this.channels.isRequestedChunk(chunk);
    return message !== undefined && isOfChannel(message) && this.channels.isRequestedMessage(message);
  }

  /**
   * Beyond the host's allowance (P152), the next messages wait in the network. Where they can't, and for a
   * host with a second allowance in excess, the connection closes and this one does not count. The result is
   * then false.
   */
  #isAllowed(length: number, requested: boolean): boolean {
    const waitMs = this.#events.useAllowance(length, requested);
    if (waitMs === 0) return true;
    if (!this.#socket.pause || waitMs > RETURN_MS) {
      const detail = `too many messages: try again in ${Math.ceil(waitMs / 1_000)} s`;
      this.close(...closeArguments('unavailable', detail));
      return false;
    }
    this.#socket.pause(waitMs);
    return true;
  }

  #message(message: Up, length: number): void {
    if (isOfChannel(message)) this.channels.receive(message);
    else this.#events.message(message, length);
  }

  #refuse(what: string): void {
    if (this.#closed) return;
    this.#events.refused(what);
    this.close(...closeArguments('badMessage', `not allowed for this host: ${what}`));
  }
}

const isOfChannel = (message: Up): message is ChannelUp => message.type.startsWith('channel.');
