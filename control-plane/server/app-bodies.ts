/**
 * Bodies of requests to web applications and of their answers on Node, straight from and to the connection of
 * the client: streams of the web platform would take more time than all the rest of a request.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type AppAnswer, type AppBody, isBodiless } from '../coordinator/apps/app-relay.ts';

/** What one request on Node has besides its Request. */
export interface AppConnection {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** The answer whose body follows the head that the app returns. */
  appAnswer?: AppAnswer;
}

/** The most that is read of a body before the relay takes it. */
const MAX_WAITING_BYTES = 64 * 1024;
const WITHOUT_BODY = ['GET', 'HEAD', 'TRACE'];

/** The body of a request. Null for methods without one. */
export const bodyOf = (incoming: IncomingMessage): AppBody | null =>
  WITHOUT_BODY.includes(incoming.method ?? 'GET') ? null : new IncomingBody(incoming);

class IncomingBody implements AppBody {
  readonly #incoming: IncomingMessage;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isListening = false;
  #isOver = false;
  #changed = () => {};

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  async read(): Promise<Uint8Array | undefined> {
    if (!this.#isListening) this.#listen();
    for (;;) {
      if (this.#waiting.length > 0) return this.#taken();
      if (this.#incoming.readableEnded) return undefined;
      if (this.#isOver || this.#incoming.destroyed) throw new Error('the client has broken off its body');
      const changed = new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
      this.#incoming.resume();
      await changed;
    }
  }

  /** In one piece: a body may come in chunks of one byte. */
  #taken(): Uint8Array {
    const pieces = this.#waiting.splice(0);
    this.#waitingBytes = 0;
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  }

  /** What is left of the body is read by the server, once it has answered. */
  cancel(): void {
    if (this.#isOver) return;
    this.#over();
    this.#incoming.pause();
    this.#incoming.off('data', this.#take);
  }

  #listen(): void {
    this.#isListening = true;
    this.#incoming.on('data', this.#take);
    for (const event of ['end', 'close', 'error']) this.#incoming.on(event, this.#over);
  }

  readonly #take = (bytes: Uint8Array) => {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= MAX_WAITING_BYTES) this.#incoming.pause();
    this.#changed();
  };

  readonly #over = () => {
    this.#isOver = true;
    this.#changed();
  };
}

type Fetch = Parameters<typeof getRequestListener>[0];

/** `fetch`, with what applications answer. The bodies of Berth's own answers are in their responses. */
export const withAppBodies =
  (fetch: Fetch): Fetch =>
  (request, env) => {
    const answering = fetch(request, env);
    return answering instanceof Promise
      ? answering.then((response: Response) => passOn(response, env as AppConnection))
      : answering;
  };

function passOn(response: Response, { incoming, outgoing, appAnswer }: AppConnection): Response {
  if (!appAnswer) return response;
  void answer(outgoing, response, appAnswer, incoming.method ?? 'GET');
  return RESPONSE_ALREADY_SENT;
}

/** Never rejects: an answer that breaks off ends the connection. */
async function answer(
  outgoing: ServerResponse,
  { status, headers }: Response,
  { whole, read, pipe }: AppAnswer,
  method: string,
): Promise<void> {
  try {
    outgoing.writeHead(status, [...headers].flat());
    if (isBodiless(method, status)) return void outgoing.end();
    if (whole) return void outgoing.end(whole);
    const begun = read();
    // A short answer is sent with its head in one piece. Nobody waits for the head of a slow one.
    const isHere = await isSoon(begun);
    if (!isHere) outgoing.flushHeaders();
    const first = await begun;
    let ahead = isHere && first ? read() : undefined;
    if (ahead && (await isSoon(ahead)) && (await ahead) === undefined) return void outgoing.end(first);
    for (let bytes = first; bytes; bytes = await (ahead ?? read()), ahead = undefined) {
      if (outgoing.destroyed) throw new Error('the client has left');
      if (!outgoing.write(bytes)) await drained(outgoing);
    }
    outgoing.end();
  } catch {
    pipe.close();
    outgoing.destroy();
  }
}

/** Whether the promise is settled in the present turn of the event loop. */
async function isSoon(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const settled = () => {
    isSettled = true;
  };
  promise.then(settled, settled);
  await new Promise(setImmediate);
  return isSettled;
}

/** Resolves once the client has read, or has gone. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}
