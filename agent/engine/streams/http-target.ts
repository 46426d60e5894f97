/**
 * One HTTP request to a container as the target of a stream (P275 to P281). Each request has a connection of
 * its own: to a container on the same machine one costs little, none carries requests of two users, and none
 * can be closed by the application just when it is used again. Follows no redirects, and passes bodies on as
 * they are.
 */
import { type ClientRequest, type IncomingMessage, request as sendRequest } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import {
  decodeRequestHead,
  encodeAnswerHead,
  endToEnd,
  type HeaderPair,
  HeadReader,
  type RequestHead,
} from '../../../shared/streams/app-heads.ts';
import { withResolvers } from '../../with-resolvers.ts';
import { AnswerSocket } from './answer-socket.ts';
import { openSocket, write } from './socket-target.ts';
import type { Piece, Target } from './target.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** Bytes of the head of an application's answer. */
const MAX_ANSWER_HEAD_BYTES = 32 * 1024;
/** Informational answers (1xx) to one request. */
const MAX_INFORMATIONAL = 100;

interface Answer {
  head: Uint8Array;
  body?: Readable;
}

export class HttpTarget implements Target {
  readonly output: AsyncIterable<Piece>;
  readonly #address: string;
  readonly #port: number;
  readonly #head = new HeadReader();
  readonly #answered = withResolvers<Answer>();
  /** Where bytes after the head go. */
  #sink: Writable | undefined;
  #request: ClientRequest | undefined;
  #isUpgrade = false;
  #isAnswered = false;
  #isOver = false;

  constructor(address: string, port: number) {
    this.#address = address;
    this.#port = port;
    this.output = this.#pieces();
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#isOver) return;
    let rest = bytes;
    if (!this.#request) {
      const read = this.#read(bytes);
      if (!read) return;
      await this.#begin(read.head);
      rest = read.rest;
    }
    // Before its answer, nothing may follow the request for a WebSocket.
    if (this.#isUpgrade && !this.#sink) await this.#answered.promise;
    if (rest.length === 0 || !this.#sink) return;
    // An application may answer and close its connection before it has read the body. Its answer is read
    // first: a write that fails would end the connection.
    await setImmediate();
    await write(this.#sink, rest);
  }

  end(): void {
    if (this.#isUpgrade) this.#sink?.end();
    else if (this.#request) this.#request.end();
    else this.#fail('the request has no head');
  }

  async exitCode(): Promise<undefined> {
    return undefined;
  }

  resize(): void {}

  signal(): void {}

  destroy(): void {
    this.#isOver = true;
    this.#fail('the request was given up');
    this.#sink?.destroy();
    this.#request?.destroy();
  }

  #read(bytes: Uint8Array): { head: RequestHead; rest: Uint8Array } | undefined {
    try {
      const read = this.#head.push(bytes);
      const head = read && decodeRequestHead(read.text);
      if (read && !head) this.#fail('the head of the request is not valid');
      return read && head && { head, rest: read.rest };
    } catch (error) {
      this.#fail(String(error));
      return undefined;
    }
  }

  /** Never rejects: what fails is the answer. */
  async #begin(head: RequestHead): Promise<void> {
    this.#isUpgrade = head.upgrade === true;
    try {
      const connection = new AnswerSocket({ allowHalfOpen: true });
      const socket = await openSocket(this.#address, this.#port, CONNECT_TIMEOUT_MS, connection);
      if (this.#isOver) return void socket.destroy();
      const request = sendRequest({
        createConnection: () => socket,
        method: head.method,
        path: head.path,
        headers: this.#headersOf(head).flat(),
        maxHeaderSize: MAX_ANSWER_HEAD_BYTES,
      });
      this.#request = request;
      if (!this.#isUpgrade) this.#sink = request;
      this.#listen(request);
      // Sends the head. Node would send it as UTF-8 by flushHeaders, but each character is a byte.
      if (this.#isUpgrade) request.end();
      else request.write(new Uint8Array());
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #headersOf({ headers, chunked, upgrade }: RequestHead): HeaderPair[] {
    const kept = endToEnd(headers);
    const hasHost = kept.some(([name]) => name.toLowerCase() === 'host');
    const hop: HeaderPair[] = upgrade
      ? [
          ['connection', 'Upgrade'],
          ['upgrade', 'websocket'],
        ]
      : [['connection', 'close']];
    return [
      ...(hasHost ? [] : [['host', `${this.#address}:${this.#port}`] satisfies HeaderPair]),
      ...kept,
      ...hop,
      ...(chunked ? [['transfer-encoding', 'chunked'] satisfies HeaderPair] : []),
    ];
  }

  #listen(request: ClientRequest): void {
    let informational = 0;
    request.on('information', () => {
      informational += 1;
      if (informational <= MAX_INFORMATIONAL) return;
      this.#fail(`port ${this.#port}: the application gives no answer but informational ones (1xx)`);
      request.destroy();
    });
    request.on('response', (message) => this.#answer(message, message));
    request.on('upgrade', (message, socket, first) => {
      socket.on('error', () => socket.destroy());
      if (first.length > 0) socket.unshift(first);
      if (!this.#isUpgrade) {
        socket.destroy();
        return this.#fail(`port ${this.#port}: the application has changed to another protocol unasked`);
      }
      this.#sink = socket;
      this.#answer(message, socket);
    });
    request.on('error', (error: NodeJS.ErrnoException) => this.#fail(this.#problemOf(error)));
    request.on('close', () =>
      this.#fail(`port ${this.#port}: the application closed the connection without an answer`),
    );
  }

  #answer(message: IncomingMessage, body: Readable): void {
    const { rawHeaders, statusCode = 0 } = message;
    const pairs: HeaderPair[] = [];
    for (let n = 0; n + 1 < rawHeaders.length; n += 2)
      pairs.push([rawHeaders[n] ?? '', rawHeaders[n + 1] ?? '']);
    // An answer that comes after the end is of nobody's interest.
    body.on('error', () => {});
    const head = encodeAnswerHead({ status: statusCode, headers: endToEnd(pairs) });
    this.#isAnswered = head !== undefined;
    if (head) this.#answered.resolve({ head, body });
    else this.#fail(`port ${this.#port}: the application's answer has a head that can't be passed on`);
  }

  #problemOf({ code = '', message }: NodeJS.ErrnoException): string {
    if (code === 'HPE_HEADER_OVERFLOW')
      return `port ${this.#port}: the head of the application's answer is longer than ${MAX_ANSWER_HEAD_BYTES} bytes`;
    if (code.startsWith('HPE_')) return `port ${this.#port}: what listens there does not speak HTTP`;
    if (code === 'ECONNRESET' || code === 'EPIPE')
      return `port ${this.#port}: the application closed the connection without an answer`;
    return `port ${this.#port}: ${message}`;
  }

  /** Without effect once there is an answer. */
  #fail(problem: string): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    const head = encodeAnswerHead({ problem: problem.slice(0, 2_000) }) ?? new Uint8Array();
    this.#answered.resolve({ head });
  }

  async *#pieces(): AsyncGenerator<Piece> {
    const { head, body } = await this.#answered.promise;
    // What has come of a body with the head goes with it, in one message.
    const first: Buffer | null = body?.read() ?? null;
    yield { bytes: first ? Buffer.concat([head, first]) : head };
    try {
      for await (const bytes of body ?? []) yield { bytes };
    } catch {
      throw new Error(`port ${this.#port}: the application broke off its answer`);
    }
  }
}
