/**
 * A stream that outlives a lost connection of its client (H834, STREAM-28): keeps what the client has not
 * confirmed, and continues on another connection. Its relay does not notice.
 */
import type { ServerMessage, StreamOpening } from '../../../shared/streams/client-messages.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import {
  type ClientEnd,
  type ClientLink,
  type ClientSocket,
  type FromClient,
  NO_CLOSE,
} from './client-end.ts';
import { KeptBytes } from './kept-bytes.ts';
import { closing } from './stream-relay.ts';
import { joinClient, type StreamSessionDeps } from './stream-session.ts';

/** How long it waits for its client. */
export const RESUME_MS = 120_000;
/** The code by which a client ends the stream. Proxies close with others, such as 1001, when they restart. */
const LEFT = 1000;

export class ResumableStream implements ClientEnd {
  readonly id = crypto.randomUUID();
  readonly request: StreamRequest;
  readonly #deps: StreamSessionDeps;
  readonly #over: () => void;
  #link: ClientLink | undefined;
  /** Undefined while the connection is lost. */
  #socket: ClientSocket | undefined;
  #isOpened = false;
  /** Output that the client has not confirmed. Never more than a window. */
  readonly #kept = new KeptBytes();
  /** Marks that the client has not returned, each with the number of bytes before it. */
  readonly #marks = new Map<string, number>();
  /** Bytes of the client that have arrived, and those that it may still send. */
  #taken = 0;
  #credit = 0;
  /** How the stream has ended. */
  readonly #ending: ServerMessage[] = [];
  #closing: { code: number; reason: string } | undefined;
  #cancelWait = () => {};

  /** `over` is called once, when it can't be resumed any more. */
  constructor(request: StreamRequest, deps: StreamSessionDeps, over: () => void) {
    this.request = request;
    this.#deps = deps;
    this.#over = over;
  }

  begin(socket: ClientSocket, opening: StreamOpening): ClientLink {
    this.#socket = socket;
    this.#link = joinClient(this, this.request, opening, this.#deps);
    return this.#linkOf(socket);
  }

  /**
   * Continues on this connection, which takes the stream over if it has another one. Undefined, and without
   * effect, unless the client can have received so many bytes.
   */
  resume(socket: ClientSocket, received: number): ClientLink | undefined {
    if (received < this.#kept.start || received > this.#kept.end) return undefined;
    this.#say({ type: 'reset', message: 'The stream goes on at another connection, which has resumed it.' });
    this.#socket?.close(closing.reset, 'resumed');
    this.#socket = socket;
    this.#cancelWait();
    this.#say({ type: 'resumed', taken: this.#taken, credit: this.#credit });
    for (const bytes of this.#kept.from(received)) this.#socket?.send(bytes);
    for (const mark of this.#marks.keys()) this.#say({ type: 'mark', mark });
    for (const message of this.#ending) this.#say(message);
    if (this.#closing) this.close(this.#closing.code, this.#closing.reason);
    return this.#linkOf(socket);
  }

  tell(message: ServerMessage): void {
    switch (message.type) {
      case 'opened':
        this.#isOpened = true;
        this.#credit = message.credit;
        break;
      case 'credit':
        this.#credit += message.bytes;
        break;
      case 'mark':
        if (!this.#marks.has(message.mark)) this.#marks.set(message.mark, this.#kept.end);
        break;
      default:
        this.#ending.push(message);
    }
    this.#say(message.type === 'opened' ? { ...message, session: this.id } : message);
  }

  send(bytes: Uint8Array): void {
    this.#kept.add(bytes);
    this.#socket?.send(bytes);
  }

  /** What the client has not received by then, it gets if it resumes. */
  close(code: number, reason: string): void {
    this.#closing = { code, reason };
    if (!this.#socket) return;
    this.#socket.close(code, reason);
    this.#wait();
  }

  #linkOf(socket: ClientSocket): ClientLink {
    const link = this.#link;
    return {
      receive: (frame) => this.#receive(socket, frame),
      get isAgentBehind() {
        return link?.isAgentBehind ?? false;
      },
      closed: (code) => this.#closed(socket, code),
    };
  }

  /** What a connection sends after another has taken its place is the client's to send again. */
  #receive(socket: ClientSocket, frame: FromClient): void {
    if (socket !== this.#socket) return;
    if (frame instanceof Uint8Array) {
      this.#taken += frame.length;
      this.#credit -= frame.length;
    } else if (frame?.type === 'read') this.#confirmed(frame.mark);
    this.#link?.receive(frame);
  }

  #confirmed(mark: string): void {
    this.#kept.drop(this.#marks.get(mark) ?? 0);
    this.#marks.delete(mark);
  }

  #closed(socket: ClientSocket, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    // The client answers the close of a stream that has ended.
    const hasLeft = this.#closing ? code !== NO_CLOSE : code === LEFT;
    if (hasLeft || !this.#isOpened) this.#end();
    else this.#wait();
  }

  #wait(): void {
    this.#cancelWait();
    this.#cancelWait = this.#deps.clock.after(RESUME_MS, () => this.#end());
  }

  #end(): void {
    this.#cancelWait();
    this.#socket = undefined;
    this.#link?.closed(LEFT);
    this.#over();
  }

  #say(message: ServerMessage): void {
    this.#socket?.send(JSON.stringify(message));
  }
}
