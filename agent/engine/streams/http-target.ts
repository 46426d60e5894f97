/**
 * One HTTP request to a container as the target of a channel (P275 to P281). Follows no redirects, and passes
 * bodies on as they are.
 */
import { type ClientRequest, request as sendRequest } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { RequestHead } from '../../../shared/streams/app-heads.ts';
import { AppAnswer, MAX_ANSWER_HEAD_BYTES } from './app-answer.ts';
import {
  type AppConnections,
  type AppPlace,
  connectAnew,
  headersFor,
  type Owner,
} from './app-connections.ts';
import { write } from './socket-target.ts';
import type { Piece, Target } from './target.ts';

/** Informational answers (1xx) to one request. */
const MAX_INFORMATIONAL = 100;
/**
 * Methods of requests that are sent again if the application closes a connection just when it is used again.
 */
const REPEATABLE = ['GET', 'HEAD', 'OPTIONS'];

export class HttpTarget implements Target {
  readonly output: AsyncIterable<Piece>;
  readonly #place: AppPlace & Owner;
  readonly #head: RequestHead;
  readonly #connections: AppConnections;
  readonly #answer: AppAnswer;
  #request: ClientRequest;

  constructor(connections: AppConnections, place: AppPlace & Owner, head: RequestHead) {
    this.#connections = connections;
    this.#place = place;
    this.#head = head;
    this.#answer = new AppAnswer(place.port);
    this.#request = this.#send(isRepeatable(head));
    this.output = this.#answer.pieces();
  }

  async write(bytes: Uint8Array): Promise<void> {
    // An application may answer and close its connection before it has read the body. Its answer is read
    // first: a write that fails would end the connection.
    await setImmediate();
    await write(this.#request, bytes);
  }

  end(): void {
    this.#request.end();
  }

  async exitCode(): Promise<undefined> {
    return undefined;
  }

  resize(): void {}

  signal(): void {}

  destroy(): void {
    this.#answer.fail('the request was given up');
    // After a whole answer the connection serves the next request.
    if (!this.#answer.isWhole || !this.#request.writableEnded) this.#request.destroy();
  }

  #send(isRepeatable: boolean): ClientRequest {
    const { method, path } = this.#head;
    const request = sendRequest({
      ...this.#place,
      ...(isRepeatable ? { agent: this.#connections } : { createConnection: connectAnew }),
      method,
      path,
      headers: headersFor(this.#head, this.#place, isRepeatable ? [] : [['connection', 'close']]).flat(),
      maxHeaderSize: MAX_ANSWER_HEAD_BYTES,
    });
    this.#listen(request);
    // Sends the head. Node would send it as UTF-8 by flushHeaders, but each character is a byte.
    request.write(new Uint8Array());
    return request;
  }

  #listen(request: ClientRequest): void {
    let informational = 0;
    request.on('information', () => {
      informational += 1;
      if (informational <= MAX_INFORMATIONAL) return;
      this.#answer.fail('the application gives no answer but informational ones (1xx)');
      request.destroy();
    });
    request.on('response', (message) => this.#answer.give(message));
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      this.#answer.fail('the application has changed to another protocol unasked');
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      const wasClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE';
      if (wasClosed && request.reusedSocket && !this.#answer.isGiven) {
        this.#request = this.#send(false);
        this.#request.end();
      } else this.#answer.failed(error);
    });
    request.on('close', () => {
      if (request === this.#request) this.#answer.closed();
    });
  }
}

const isRepeatable = ({ method, headers, chunked }: RequestHead): boolean =>
  REPEATABLE.includes(method) &&
  !chunked &&
  !headers.some(([name]) => name.toLowerCase() === 'content-length');
