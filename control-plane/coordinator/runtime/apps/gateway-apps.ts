/**
 * Requests to web applications on workerd: the Worker authorises, and the gateway of the host relays. The
 * bytes never pass the coordinator.
 */
import type { HeaderPair } from '../../../../shared/streams/app-heads.ts';
import { asciiJson } from '../../../../shared/streams/ascii-json.ts';
import { kinds } from '../../../../shared/streams/socket-messages.ts';
import { type ErrorCode, OperationError } from '../../../core/model/errors.ts';
import type { AppRequest } from '../../../core/streams/app-request.ts';
import { type AppAnswer, type AppRelay, bodyFrom, isBodiless, responseOf } from '../../apps/app-relay.ts';
import { notAHandshake, SocketRelay } from '../../apps/socket-relay.ts';
import type { Clock } from '../../ports.ts';
import type { AwakeTime } from '../../sleep/awake-time.ts';
import { ObjectBrowser } from './object-browser.ts';

/** The path and the header of a request from the Worker to a gateway. No agent can choose this path. */
export const APP_PATH = '/app';
const REQUEST_HEADER = 'berth-app-request';
/**
 * What the gateway answers, so that neither the runtime nor a proxy acts on the application's headers on the
 * way.
 */
const ANSWER_HEADER = 'berth-app-answer';

/** As the Worker asks. `isKnown`: see AcceptApp. */
interface Forwarded extends AppRequest {
  isKnown: boolean;
}

/** In the header of an answer. Errors lose their class between the object and the Worker. */
type Answered =
  | { isUnknown: true }
  | { status: number; headers: HeaderPair[] }
  | { code: ErrorCode; message: string; retryAfterS?: number | undefined };

interface Gateway {
  fetch(request: Request): Promise<Response>;
}

/** See AcceptApp. The headers of the answer, and what makes a response with others. */
export async function forwardApp(
  gateway: Gateway,
  request: AppRequest,
  client: Request,
  isKnown: boolean,
): Promise<{ headers: HeaderPair[]; respond(headers: readonly HeaderPair[]): Response } | undefined> {
  // A body can be sent to the gateway once.
  if (isKnown && client.body) return undefined;
  const answer = await forwarded(gateway, { ...request, isKnown }, client);
  const answered: Answered = JSON.parse(answer.headers.get(ANSWER_HEADER) ?? '{}');
  if ('isUnknown' in answered) return undefined;
  if ('code' in answered) {
    const { code, message, retryAfterS } = answered;
    throw new OperationError(code, message, retryAfterS === undefined ? {} : { retryAfterS });
  }
  const { status } = answered;
  const respond = (pairs: readonly HeaderPair[]) => {
    const headers = new Headers(pairs.map(([name, value]) => [name, textOf(value)]));
    if (status === 101) return new Response(null, { status, headers, webSocket: answer.webSocket });
    const body = isBodiless(request.method, status) ? null : answer.body;
    return new Response(body, { status, headers, encodeBody: 'manual' });
  };
  return { headers: answered.headers, respond };
}

async function forwarded(gateway: Gateway, request: Forwarded, client: Request): Promise<Response> {
  const { body, headers, signal } = client;
  const isUpgrade = headers.get('upgrade')?.toLowerCase() === 'websocket';
  if (isUpgrade && request.method !== 'GET') throw notAHandshake();
  const protocols = headers.get('sec-websocket-protocol');
  const sent = new Request(`https://gateway${APP_PATH}`, {
    ...(body && { method: 'POST', body }),
    headers: {
      [REQUEST_HEADER]: asciiJson({
        ...request,
        headers: request.headers.map(([name, value]) => [name, bytesOf(value)]),
      }),
      ...(isUpgrade && { upgrade: 'websocket' }),
      ...(protocols && { 'sec-websocket-protocol': protocols }),
    },
    ...(signal && { signal }),
  });
  try {
    return await gateway.fetch(sent);
  } catch (cause) {
    throw new OperationError('unavailable', 'The gateway does not answer; try again.', { cause });
  }
}

/** Relays a request that the Worker has authorised. The object stays awake as long as it lasts. */
export async function acceptApp(
  forwarded: Request,
  awake: AwakeTime,
  clock: Pick<Clock, 'after'>,
  relay: AppRelay,
): Promise<Response> {
  const { isKnown, ...request }: Forwarded = JSON.parse(forwarded.headers.get(REQUEST_HEADER) ?? '');
  try {
    const isUpgrade = forwarded.headers.get('upgrade') === 'websocket';
    const { body, signal } = forwarded;
    const answer = await relay.request(request, { body: bodyFrom(body), signal, isUpgrade }, isKnown);
    if (!answer) return answering({ isUnknown: true }, null);
    if (answer.status === 101) return acceptSocket(answer, awake, clock);
    return answerOf(answer, request.method);
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    const { code, message, retryAfterS } = error;
    return answering({ code, message, retryAfterS }, null);
  }
}

function acceptSocket(answer: AppAnswer, awake: AwakeTime, clock: Pick<Clock, 'after'>): Response {
  const { 0: client, 1: server } = new WebSocketPair();
  server.binaryType = 'arraybuffer';
  server.accept();
  joinSocket(server, answer, awake, clock);
  return answering({ status: 101, headers: answer.headers }, null, client);
}

function joinSocket(
  server: WebSocket,
  answer: AppAnswer,
  awake: AwakeTime,
  clock: Pick<Clock, 'after'>,
): void {
  const browser = new ObjectBrowser(server, answer.pipe);
  const socket = new SocketRelay(browser, answer, clock);
  server.addEventListener('message', ({ data }) => {
    const end = awake.begin();
    browser.heard();
    if (typeof data === 'string') void socket.fromBrowser(kinds.text, new TextEncoder().encode(data));
    else void socket.fromBrowser(kinds.binary, new Uint8Array(data as ArrayBuffer));
    end();
  });
  server.addEventListener('close', ({ code, reason }) => {
    socket.browserClosed(code === 1006 ? undefined : code, reason);
    browser.close();
  });
  server.addEventListener('error', () => socket.browserClosed(undefined, ''));
  void socket.run();
}

/** Headers are bytes, which this runtime takes for UTF-8. Elsewhere each byte is a character. */
const bytesOf = (value: string): string =>
  /^[ -~]*$/.test(value) ? value : String.fromCharCode(...new TextEncoder().encode(value));
const textOf = (value: string): string =>
  /^[ -~]*$/.test(value)
    ? value
    : new TextDecoder().decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));

/** With its length, if the application states it: the runtime would otherwise send the body in chunks. */
function answerOf(answer: AppAnswer, method: string): Response {
  const { body, headers, status } = responseOf(answer, method);
  const length = headers.get('content-length');
  const isSized = answer.whole !== undefined || length === null;
  const sized = body && !isSized ? body.pipeThrough(new FixedLengthStream(Number(length))) : body;
  return answering({ status, headers: answer.headers }, sized);
}

const answering = (answered: Answered, body: ReadableStream | null, webSocket?: WebSocket): Response =>
  new Response(body, {
    headers: { [ANSWER_HEADER]: asciiJson(answered) },
    ...(webSocket && { status: 101, webSocket }),
  });
