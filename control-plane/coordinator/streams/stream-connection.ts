/**
 * A WebSocket of a client, from its upgrade to its end: reads the first frame, and joins the client with a
 * new stream, or with the one that it resumes. The same on Node and at a gateway.
 */
import { decodeClient, decodeRequest, type StreamOpening } from '../../../shared/streams/client-messages.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import { type ClientLink, type ClientSocket, socketEnd } from './client-end.ts';
import type { ResumableStreams } from './resumable-streams.ts';
import { closing, shortReason } from './stream-relay.ts';
import { joinClient, type StreamSessionDeps } from './stream-session.ts';

/** How long a client may take to send its request. */
const REQUEST_MS = 10_000;
const UNKNOWN =
  'There is no such stream to resume: it has ended, was without a connection for 2 minutes, or the control plane has restarted.';
const WRONG_COUNT = 'The stream can not be resumed: it has no output from that byte on.';

export class StreamConnection {
  readonly #socket: ClientSocket;
  readonly #request: StreamRequest;
  readonly #deps: StreamSessionDeps;
  readonly #resumable: ResumableStreams;
  #link: ClientLink | undefined;
  #isOver = false;
  readonly #cancelWait: () => void;

  constructor(
    socket: ClientSocket,
    request: StreamRequest,
    deps: StreamSessionDeps,
    resumable: ResumableStreams,
  ) {
    this.#socket = socket;
    this.#request = request;
    this.#deps = deps;
    this.#resumable = resumable;
    this.#cancelWait = deps.clock.after(REQUEST_MS, () =>
      this.#refuse(`No request arrived within ${REQUEST_MS / 1_000} s.`),
    );
  }

  /** A frame of the client. */
  receive(data: string | Uint8Array): void {
    if (this.#link) this.#link.receive(typeof data === 'string' ? decodeClient(data) : data);
    else if (!this.#isOver) this.#begin(data);
  }

  /** Whether the client should send no more for now. */
  get isAgentBehind(): boolean {
    return this.#link?.isAgentBehind ?? false;
  }

  /** By a close of the client with this code, or without one (1006). */
  closed(code: number): void {
    this.#isOver = true;
    this.#cancelWait();
    this.#link?.closed(code);
  }

  #begin(data: string | Uint8Array): void {
    this.#cancelWait();
    const first = typeof data === 'string' ? decodeRequest(this.#request.purpose, data) : undefined;
    if (!first) this.#refuse(`The first frame must be a request of the kind ${this.#request.purpose}.`);
    else if (first.type !== 'resume') this.#link = this.#open(first);
    else {
      const stream = this.#resumable.find(first.session, this.#request);
      this.#link = stream?.resume(this.#socket, first.received);
      if (!this.#link) this.#refuse(stream ? WRONG_COUNT : UNKNOWN);
    }
  }

  #open(opening: StreamOpening): ClientLink {
    const wants = opening.type === 'exec' && opening.resume === true && opening.terminal !== undefined;
    const stream = wants ? this.#resumable.add(this.#request, this.#deps) : undefined;
    if (stream) return stream.begin(this.#socket, opening);
    return joinClient(socketEnd(this.#socket), this.#request, opening, this.#deps);
  }

  #refuse(message: string): void {
    this.#isOver = true;
    this.#socket.send(JSON.stringify({ type: 'reset', message }));
    this.#socket.close(closing.reset, shortReason(message));
  }
}
