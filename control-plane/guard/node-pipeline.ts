/**
 * Serves the requests of each connection one after the other, and one in each turn of the event loop. A
 * client that does not await the answers would otherwise cause as much work at a time as it can write
 * requests: a thousand in 40 kB.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Turn {
  response: ServerResponse;
  serve: (isExcess: boolean) => void;
  isExcess: boolean;
}

export class NodePipeline {
  readonly #limit: number;
  /** The request that is served, then those that wait for its answer. */
  readonly #turnsOf = new WeakMap<Socket, Turn[]>();

  /** `limit`: requests of one connection that may wait for the answers to earlier ones. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Calls `serve` when it is the request's turn. `isExcess`: it was one too many, and its answer must close
   * the connection. Requests after it are ignored.
   */
  inTurn({ socket }: IncomingMessage, response: ServerResponse, serve: Turn['serve']): void {
    const turns = this.#turnsOf.get(socket) ?? [];
    if (turns.length === 0) this.#turnsOf.set(socket, turns);
    const isExcess = turns.length > this.#limit;
    if (turns.at(-1)?.isExcess !== true) turns.push({ response, serve, isExcess });
    // Node begins to read again after each request that it has parsed.
    if (isExcess) setImmediate(() => socket.pause());
    if (turns.length === 1) this.#serveFirst(socket, turns);
  }

  #serveFirst(socket: Socket, turns: Turn[]): void {
    const [turn] = turns;
    // A connection that is being closed sends no further answers.
    if (!turn || !socket.writable) return;
    turn.serve(turn.isExcess);
    turn.response.once('close', () => {
      turns.shift();
      if (turns.length > 0) setImmediate(() => this.#serveFirst(socket, turns));
    });
  }
}
