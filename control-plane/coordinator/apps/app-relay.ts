/**
 * Relays a request to a web application in a container through the agent of its host, and its answer back
 * (P275 to P281). Bodies stream both ways within credit, and each may begin before the other has ended.
 */
import {
  decodeAnswerHead,
  endToEnd,
  type HeaderPair,
  HeadReader,
  isRequestHead,
  type RequestHead,
} from '../../../shared/streams/app-heads.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { AppRequest } from '../../core/streams/app-request.ts';
import { type AgentPipe, BrokenPipe } from '../streams/agent-pipe.ts';
import { type AppPermit, AppPermits, type AppRelayDeps, StalePermit } from './app-permits.ts';

/** The body of a request, which is read no further than its reader. */
export interface AppBody {
  /** Resolves to undefined after the last bytes. Rejects if the client breaks off. */
  read(): Promise<Uint8Array | undefined>;
  /** Gives the rest up. */
  cancel(): void;
}

/** What comes with the request besides its head. */
export interface AppInput {
  body: AppBody | null;
  /** The request is for a WebSocket. */
  isUpgrade: boolean;
  /** Aborted when the client has gone. */
  signal?: AbortSignal | undefined;
}

/**
 * The answer of the application. With status 101 the bytes are messages (shared/streams/socket-messages.ts).
 */
export interface AppAnswer {
  status: number;
  headers: HeaderPair[];
  /** The body, if it has arrived with the head. Short ones have. */
  whole?: Uint8Array;
  /** Resolves to the next bytes, and to undefined after the last ones. Throws if the answer breaks off. */
  read(): Promise<Uint8Array | undefined>;
  pipe: AgentPipe;
}

/** Answers without a body, whatever follows them. */
export const isBodiless = (method: string, status: number): boolean =>
  method === 'HEAD' || [101, 204, 205, 304].includes(status);

export class AppRelay {
  readonly #permits: AppPermits;

  constructor(deps: AppRelayDeps) {
    this.#permits = new AppPermits(deps);
  }

  /**
   * Throws OperationError if the application can't be reached, or gives no answer. `isKnown`: only under a
   * permit that is alive. Undefined, with the body untouched, if there is none.
   */
  request(request: AppRequest, input: AppInput, isKnown?: false): Promise<AppAnswer>;
  request(request: AppRequest, input: AppInput, isKnown: boolean): Promise<AppAnswer | undefined>;
  request(request: AppRequest, input: AppInput, isKnown = false): Promise<AppAnswer | undefined> {
    return isKnown ? this.#byLivePermit(request, input) : this.#byAnyPermit(request, input);
  }

  async #byLivePermit(request: AppRequest, input: AppInput): Promise<AppAnswer | undefined> {
    const permit = this.#permits.granted(request);
    try {
      return permit && (await ask(permit, headOf(request, input), request, input));
    } catch (error) {
      if (!isStale(error)) throw forClient(error);
      permit?.end(error.message);
      return undefined;
    }
  }

  async #byAnyPermit(request: AppRequest, input: AppInput): Promise<AppAnswer> {
    const head = headOf(request, input);
    for (let isLast = false; ; isLast = true) {
      const { permit, isNew } = this.#permits.of(request);
      try {
        return await ask(permit, head, request, input);
      } catch (error) {
        if (isStale(error)) permit.end(error.message);
        // The service may have been started again since the permit was obtained.
        if (!isStale(error) || isNew || isLast) throw forClient(error);
      }
    }
  }
}

/** Nothing of the body was read: another permit may do better. */
const isStale = (error: unknown): error is Error =>
  error instanceof StalePermit || (error instanceof BrokenPipe && error.refused);

const forClient = (error: unknown): unknown =>
  isStale(error) || error instanceof BrokenPipe
    ? new OperationError('unavailable', error.message, isStale(error) ? { retryAfterS: 1 } : {})
    : error;

/** Throws StalePermit or a refused BrokenPipe before anything of the body was read. */
async function ask(
  permit: AppPermit,
  head: RequestHead,
  request: AppRequest,
  input: AppInput,
): Promise<AppAnswer> {
  const { body, isUpgrade, signal } = input;
  const pipe = await permit.open(head, { isUpgrade, hasBody: body !== null }, signal);
  const leave = () => pipe.close();
  signal?.addEventListener('abort', leave);
  if (signal?.aborted) leave();
  try {
    if (body) {
      await pipe.opened();
      send(pipe, body);
    }
    return await answerOf(pipe, request, input);
  } catch (error) {
    pipe.close();
    throw error;
  }
}

/** The body of a request that is a stream. */
export function bodyFrom(stream: ReadableStream<Uint8Array> | null): AppBody | null {
  const reader = stream?.getReader();
  if (!reader) return null;
  return {
    read: async () => (await reader.read()).value,
    cancel: () => void reader.cancel().catch(() => {}),
  };
}

/** The subprotocol that the application has chosen. */
export const protocolOf = (headers: readonly HeaderPair[]): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === 'sec-websocket-protocol')?.[1];

/** The answer with a body that reads no further than its reader. `headers`: in place of its own. */
export function responseOf(
  { status, headers: own, whole, read, pipe }: AppAnswer,
  method: string,
  headers = own,
): Response {
  const init = { status, headers: new Headers(headers) };
  if (isBodiless(method, status)) return new Response(null, init);
  if (whole) return new Response(new Uint8Array(whole), init);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await read();
        if (bytes) controller.enqueue(bytes);
        else controller.close();
      },
      cancel: () => pipe.close(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, init);
}

/** Throws if no agent would accept it. */
function headOf({ method, path, headers }: AppRequest, { body }: AppInput): RequestHead {
  const kept = endToEnd(headers);
  const hasLength = kept.some(([name]) => name.toLowerCase() === 'content-length');
  const head: RequestHead = { method, path, headers: kept, ...(body && !hasLength && { chunked: true }) };
  if (isRequestHead(head)) return head;
  throw new OperationError('invalid', 'The head of the request can not be passed on.');
}

/** Sends the body in the background. */
function send(pipe: AgentPipe, body: AppBody): void {
  const run = async () => {
    for (let part = await body.read(); part; part = await body.read()) await pipe.write(part);
    pipe.end();
  };
  run().catch(() => {
    // The client has broken off its body, or the stream is over.
    pipe.close();
    body.cancel();
  });
}

async function answerOf(
  pipe: AgentPipe,
  { method }: AppRequest,
  { isUpgrade, body }: AppInput,
): Promise<AppAnswer> {
  const { text, rest } = await readHead(pipe);
  const head = decodeAnswerHead(text);
  if (!head) throw new OperationError('unavailable', 'The agent has sent an answer that is not valid.');
  if ('problem' in head) throw new OperationError('unavailable', head.problem, { retryAfterS: 1 });
  const { status } = head;
  const headers = endToEnd(head.headers);
  if (status === 101 && !isUpgrade)
    throw new OperationError('unavailable', 'The application has changed to another protocol unasked.');
  const next = bytesAfter(rest, pipe);
  if (status === 101) return { status, headers: headers.filter(isOfNoHandshake), read: next, pipe };
  const isEmpty = isBodiless(method, status);
  const done = () => {
    // An application that has answered takes no more of the request.
    body?.cancel();
    pipe.close();
  };
  if (isEmpty) done();
  const length = isEmpty ? 0 : lengthOf(headers);
  const read = isEmpty ? async () => undefined : bounded(next, length, done);
  if (isEmpty || !pipe.isDrained || rest.length !== (length ?? rest.length))
    return { status, headers, read, pipe };
  done();
  return { status, headers, whole: rest, read, pipe };
}

/** Each side of a WebSocket makes its own handshake. */
const isOfNoHandshake = ([name]: HeaderPair): boolean =>
  !/^sec-websocket-(accept|key|extensions|version)$/i.test(name);

async function readHead(pipe: AgentPipe): Promise<{ text: string; rest: Uint8Array }> {
  const reader = new HeadReader();
  for (;;) {
    const bytes = await pipe.read();
    if (!bytes) throw new OperationError('unavailable', 'The agent has ended the stream without an answer.');
    const read = reader.push(bytes);
    if (read) return read;
  }
}

function bytesAfter(first: Uint8Array, pipe: AgentPipe): AppAnswer['read'] {
  let rest: Uint8Array | undefined = first.length > 0 ? first : undefined;
  return async () => {
    const bytes = rest ?? (await pipe.read());
    rest = undefined;
    return bytes;
  };
}

/**
 * Undefined if the answer states none. Throws if it is ambiguous, since what follows would be another answer.
 */
function lengthOf(headers: readonly HeaderPair[]): number | undefined {
  const stated = headers.filter(([name]) => name.toLowerCase() === 'content-length');
  const [[, value = ''] = []] = stated;
  if (stated.length === 0) return undefined;
  if (stated.length > 1 || !/^\d{1,15}$/.test(value))
    throw new OperationError('unavailable', 'The length of the application answer is not valid.');
  return Number(value);
}

/** Throws unless the body has that length: a client or proxy would take the rest for another answer. */
function bounded(read: AppAnswer['read'], length: number | undefined, done: () => void): AppAnswer['read'] {
  let left = length ?? Number.POSITIVE_INFINITY;
  return async () => {
    const bytes = await read();
    left -= bytes?.length ?? 0;
    const isCut = !bytes && length !== undefined && left > 0;
    if (!bytes || left < 0) done();
    if (left < 0 || isCut) throw new BrokenPipe('The answer does not have the length that it states.');
    return bytes;
  };
}
