/** A socket between two objects of workerd, or between an object and the Worker. */

/** One end of the socket. */
export interface ObjectSocket {
  send(data: string | Uint8Array): void;
  close(): void;
}

/** What arrives at one end. */
export interface SocketEvents {
  message(data: string | Uint8Array): void;
  closed(): void;
}
