/**
 * A placement whose reader is in another object: both ends of the socket between them. The reader answers
 * each line with an empty message once it has used it, and the next line follows that answer. Each side
 * learns at once from the close of the socket that the other one has ended (STREAM-27).
 */
import type { ObjectSocket, SocketEvents } from '../connections/object-socket.ts';
import type { Clock } from '../ports.ts';
import type { OpenPlacement, PlacementLine } from './placement.ts';
import type { PlacementRequest, PlacementSource } from './placements.ts';

/** Opens a socket to the coordinator. Rejects with OperationError if the placement is refused. */
export type DialPlacement = (request: PlacementRequest, events: SocketEvents) => Promise<ObjectSocket>;

/** A reader that has not answered by then is gone, even if the runtime has not noticed that. */
export const ANSWER_MS = 60_000;

/** The placements of a coordinator in another object. */
export const remotePlacements = (dial: DialPlacement): PlacementSource => ({
  async place(request) {
    const placement = new RemotePlacement();
    placement.socket = await dial(request, placement);
    return placement;
  },
});

/** The coordinator's end of `socket`. Returns what to do when something arrives there. */
export function servePlacement(
  placement: OpenPlacement,
  socket: ObjectSocket,
  clock: Pick<Clock, 'after'>,
): SocketEvents {
  let cancelWait = () => {};
  const leave = () => {
    cancelWait();
    placement.leave();
    socket.close();
  };
  const sendNext = async () => {
    cancelWait();
    const line = await placement.next();
    if (!line) return leave();
    cancelWait = clock.after(ANSWER_MS, leave);
    socket.send(JSON.stringify(line));
  };
  void sendNext();
  return { message: () => void sendNext(), closed: leave };
}

class RemotePlacement implements OpenPlacement, SocketEvents {
  /** Set before the reader has the placement. */
  socket: ObjectSocket | undefined;
  /** A line that was not read. */
  #line: PlacementLine | undefined;
  #hasRead = false;
  #isClosed = false;
  #changed = () => {};

  async next(): Promise<PlacementLine | undefined> {
    if (this.#hasRead) this.socket?.send('');
    while (!this.#line && !this.#isClosed)
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    this.#hasRead = true;
    const line = this.#line;
    this.#line = undefined;
    return line;
  }

  leave(): void {
    this.socket?.close();
    this.closed();
  }

  message(data: string | Uint8Array): void {
    this.#line = JSON.parse(String(data));
    this.#changed();
  }

  closed(): void {
    this.#isClosed = true;
    this.#changed();
  }
}
