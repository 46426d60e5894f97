/**
 * What an application answers, as pieces of a channel: the head, then the body. What keeps it from an answer
 * is the head.
 */
import type { IncomingMessage } from 'node:http';
import { encodeAnswerHead, endToEnd, type HeaderPair } from '../../../shared/streams/app-heads.ts';
import { withResolvers } from '../../with-resolvers.ts';
import type { Piece } from './target.ts';

/** Bytes of the head of an application's answer. */
export const MAX_ANSWER_HEAD_BYTES = 32 * 1024;
const MAX_PROBLEM_LENGTH = 2_000;
/** In place of the body of an answer that has none yet. */
const NOTHING: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} };

interface Given {
  head: Uint8Array;
  message?: IncomingMessage;
  body: AsyncIterable<Uint8Array>;
}

export class AppAnswer {
  readonly #port: number;
  readonly #given = withResolvers<Given>();
  #message: IncomingMessage | undefined;
  /** Whether there is one, or a problem. */
  isGiven = false;

  constructor(port: number) {
    this.#port = port;
  }

  /** Whether the body has arrived too. */
  get isWhole(): boolean {
    return this.#message?.complete === true;
  }

  give(message: IncomingMessage): void {
    // An answer that comes after the end is of nobody's interest.
    message.on('error', () => {});
    this.#message ??= message;
    this.#give(message, message);
  }

  /** The application has accepted a WebSocket. */
  accept(message: IncomingMessage, body: AsyncIterable<Uint8Array>): void {
    this.#give(message, body);
  }

  /** Without effect once there is an answer. */
  fail(problem: string): void {
    if (this.isGiven) return;
    this.isGiven = true;
    const port = `port ${this.#port}: `;
    const text = `${problem.startsWith(port) ? '' : port}${problem}`.slice(0, MAX_PROBLEM_LENGTH);
    this.#given.resolve({ head: encodeAnswerHead({ problem: text }) ?? new Uint8Array(), body: NOTHING });
  }

  failed({ code = '', message }: NodeJS.ErrnoException): void {
    if (code === 'HPE_HEADER_OVERFLOW')
      this.fail(`the head of the application's answer is longer than ${MAX_ANSWER_HEAD_BYTES} bytes`);
    else if (code.startsWith('HPE_')) this.fail('what listens there does not speak HTTP');
    else if (code === 'ECONNRESET' || code === 'EPIPE') this.closed();
    else this.fail(message);
  }

  closed(): void {
    this.fail('the application closed the connection without an answer');
  }

  async *pieces(): AsyncGenerator<Piece> {
    const { head, message, body } = await this.#given.promise;
    // What has come of a body with the head goes with it, in one message.
    const first: Buffer | null = message?.read() ?? null;
    const isLast = body === NOTHING || (message?.complete === true && message.readableLength === 0);
    yield { bytes: first ? Buffer.concat([head, first]) : head, isLast };
    try {
      for await (const bytes of body) yield { bytes };
    } catch {
      throw new Error(`port ${this.#port}: the application broke off its answer`);
    }
  }

  #give(message: IncomingMessage, body: AsyncIterable<Uint8Array>): void {
    if (this.isGiven) return;
    const { rawHeaders, statusCode = 0 } = message;
    const pairs: HeaderPair[] = [];
    for (let n = 0; n + 1 < rawHeaders.length; n += 2)
      pairs.push([rawHeaders[n] ?? '', rawHeaders[n + 1] ?? '']);
    const head = encodeAnswerHead({ status: statusCode, headers: endToEnd(pairs) });
    if (head) {
      this.isGiven = true;
      this.#given.resolve(body === message ? { head, message, body } : { head, body });
    } else this.fail("the application's answer has a head that can't be passed on");
  }
}
