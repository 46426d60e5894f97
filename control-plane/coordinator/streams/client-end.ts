/** Where a stream meets its client: the socket, what a stream sends to it, and what it passes on. */
import type { ClientMessage, ServerMessage } from '../../../shared/streams/client-messages.ts';

/** The common part of workerd's and ws's sockets. */
export interface ClientSocket {
  send(data: string | Uint8Array): void;
  close(code: number, reason: string): void;
}

/** What a stream needs of its client. */
export interface ClientEnd {
  tell(message: ServerMessage): void;
  send(bytes: Uint8Array): void;
  close(code: number, reason: string): void;
}

/** What a client has sent; undefined in place of a text frame that is not of the protocol. */
export type FromClient = ClientMessage | Uint8Array | undefined;

/** What a connection needs of its stream. */
export interface ClientLink {
  receive(frame: FromClient): void;
  /** Whether the client should send no more for now. */
  readonly isAgentBehind: boolean;
  /** The client has closed its socket with this code, or lost it (NO_CLOSE). */
  closed(code: number): void;
}

/** The code of a socket that has ended without a close. */
export const NO_CLOSE = 1006;

export const socketEnd = (socket: ClientSocket): ClientEnd => ({
  tell: (message) => socket.send(JSON.stringify(message)),
  send: (bytes) => socket.send(bytes),
  close: (code, reason) => socket.close(code, reason),
});
