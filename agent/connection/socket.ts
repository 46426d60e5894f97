/**
 * The agent's WebSocket: dials one control plane after the other, detects a peer that has disappeared
 * silently, and dials again with growing pauses until a close code forbids it. Never reads messages.
 */

import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { closeCodes, retryAfter } from '../../shared/protocol/close.ts';
import { CONNECT_PATH, INSTALL_PATH, type Refusal, refusalSchema } from '../../shared/protocol/enrolment.ts';
import { maskOptions } from '../../shared/streams/masks.ts';
import { backoffMs } from '../backoff.ts';
import { type Logger, messageOf } from '../logger.ts';
import { sleep } from '../sleep.ts';
import type { Addresses } from './addresses.ts';
import { type ConnectionRefusal, engineRemedy, type Identity } from './identity.ts';
import { RefusedError } from './refused-error.ts';
import { endpoint } from './registration.ts';
import type { SessionSocket } from './session-options.ts';

/** The receiver of one connection. */
export interface Receiver {
  receive(frame: string | Uint8Array): void;
  closed(): void;
  /** Period over which all agents return (P72). Undefined before the welcome. */
  readonly spreadMs?: number | undefined;
}

export interface ConnectionOptions {
  addresses: Addresses;
  identity: Identity;
  /** Id of the engine. */
  engine: string;
  begin(socket: SessionSocket): Receiver;
  log: Logger;
  nowMs(): number;
  random(): number;
  /** Interval of pings. A peer that is silent for three intervals is gone. */
  pingMs: number;
  signal: AbortSignal;
}

/** A connection that lasted this long resets the pauses. */
const STABLE_MS = 10_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A peer that does not answer a close within this time is disconnected. */
const CLOSE_TIMEOUT_MS = 1000;
const MAX_MESSAGE_BYTES = 64 * 2 ** 20;
const MAX_REFUSAL_BYTES = 16 * 2 ** 10;

interface Ending {
  code: number;
  reason: string;
  lastedMs: number;
  spreadMs?: number | undefined;
}

/** Stays connected until `signal` aborts. Throws RefusedError if the control plane permits no retry. */
export async function stayConnected(options: ConnectionOptions): Promise<void> {
  const { signal, log, random, addresses, engine } = options;
  let attempt = 0;
  let spreadMs = 0;
  while (!signal.aborted) {
    const url = addresses.current.origin;
    const { code, reason, lastedMs, ...rest } = await connectOnce(options);
    if (signal.aborted) return;
    const retry = retryAfter(code);
    if (retry === 'never') {
      const revoked = code === closeCodes.revoked.code;
      const remedy = revoked
        ? ' A new join token (POST host/token) makes this machine a host again.'
        : code === closeCodes.otherEngine.code
          ? ` This is the engine ${engine}. ${engineRemedy(engine)}`
          : '';
      throw new RefusedError(`The control plane refused this agent: ${reason || `code ${code}`}.${remedy}`, {
        revoked,
      });
    }
    if (rest.spreadMs !== undefined) addresses.accepted();
    else if (addresses.next()) {
      log('connection.closed', { url, code, reason, waitMs: 0 });
      continue;
    }
    if (lastedMs >= STABLE_MS) attempt = 0;
    spreadMs = rest.spreadMs ?? spreadMs;
    const isImmediate = retry === 'now' && attempt === 0;
    const waitMs = isImmediate ? Math.round(random() * spreadMs) : backoffMs(attempt, random(), spreadMs);
    attempt += 1;
    log('connection.closed', { url, code, reason, waitMs });
    await sleep(waitMs, signal);
  }
}

export function connectUrl(url: URL): string {
  const connect = endpoint(url, CONNECT_PATH);
  connect.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return connect.href;
}

async function connectOnce(options: ConnectionOptions): Promise<Ending> {
  const { addresses, identity, signal } = options;
  let headers: Record<string, string>;
  try {
    headers = await identity.headers();
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    return { code: 1006, reason: messageOf(error), lastedMs: 0 };
  }
  // The signal may have aborted meanwhile; an aborted signal sends no further event.
  if (signal.aborted) return { code: 1001, reason: '', lastedMs: 0 };
  const ws = new WebSocket(connectUrl(addresses.current), {
    headers,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    ...maskOptions(addresses.current),
  });
  return converse(ws, options);
}

/** From the dial to the close. */
function converse(ws: WebSocket, options: ConnectionOptions): Promise<Ending> {
  const { addresses, identity, begin, nowMs, pingMs, signal, log } = options;
  return new Promise((resolve) => {
    let receiver: Receiver | undefined;
    let stream: Duplex | undefined;
    let openedMs: number | undefined;
    let failure = '';
    const refusal = watchRefusal(ws, identity);
    const heartbeat = watchPeer(ws, pingMs, nowMs);
    const stopListening = closeAt(signal, ws);
    ws.on('upgrade', ({ socket }: IncomingMessage) => {
      stream = socket;
    });
    ws.on('open', () => {
      openedMs = nowMs();
      log('connection.open');
      receiver = begin(sessionSocket(ws, stream));
    });
    ws.on('message', (data, isBinary) => {
      receiver?.receive(isBinary ? (data as Buffer) : data.toString());
    });
    ws.on('error', (error) => {
      failure = messageOf(error);
    });
    ws.on('close', (code, reason) => {
      clearInterval(heartbeat);
      stopListening();
      receiver?.closed();
      resolve({
        code: refusal.code ?? code,
        reason: `${reason.toString() || refusal.message || failure}${remedyFor(code, addresses)}`,
        lastedMs: openedMs === undefined ? 0 : nowMs() - openedMs,
        spreadMs: receiver?.spreadMs,
      });
    });
  });
}

/** How an administrator gives this machine the agent that the control plane expects; otherwise nothing. */
const remedyFor = (code: number, { current }: Addresses): string =>
  code === closeCodes.version.code ? `: curl -fsSL ${endpoint(current, INSTALL_PATH).href} | sh` : '';

/**
 * Closes the socket when `signal` aborts, and waits only briefly for the answer. Returns a function that
 * removes the listener.
 */
function closeAt(signal: AbortSignal, ws: WebSocket): () => void {
  let timeout: NodeJS.Timeout | undefined;
  const stop = () => {
    ws.close(1001);
    timeout = setTimeout(() => ws.terminate(), CLOSE_TIMEOUT_MS);
  };
  signal.addEventListener('abort', stop, { once: true });
  return () => {
    clearTimeout(timeout);
    signal.removeEventListener('abort', stop);
  };
}

/** If the connection is refused: the reason, and the corresponding close code. */
function watchRefusal(ws: WebSocket, identity: Identity): { code?: number; message: string } {
  const refused: { code?: number; message: string } = { message: '' };
  ws.on('unexpected-response', (_: ClientRequest, response: IncomingMessage) => {
    void readRefusal(response).then(({ refusal, message }) => {
      if (refusal.reason === 'revoked') refused.code = closeCodes.revoked.code;
      refused.message = message;
      identity.refused?.(refusal);
      ws.terminate();
    });
  });
  return refused;
}

/** Reads the control plane's answer to a refused connection. Never rejects. */
async function readRefusal(
  response: IncomingMessage,
): Promise<{ refusal: ConnectionRefusal; message: string }> {
  const { statusCode: status = 0, headers } = response;
  const parts: Buffer[] = [];
  try {
    for await (const part of response) if (Buffer.concat(parts).length < MAX_REFUSAL_BYTES) parts.push(part);
  } catch {
    // The part that has arrived is used.
  }
  const body = refusalOf(Buffer.concat(parts).toString());
  const timeMs = Date.parse(headers.date ?? '');
  return {
    refusal: { status, reason: body?.reason, timeMs: Number.isNaN(timeMs) ? undefined : timeMs },
    message: `the control plane answered ${status}${body ? `: ${body.message}` : ''}`,
  };
}

function refusalOf(text: string): Refusal | undefined {
  try {
    return refusalSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * A half-open connection gives no error: only missing answers reveal it. Pings are counted, because the clock
 * may be set back; the time is checked, because the machine may have slept.
 */
function watchPeer(ws: WebSocket, pingMs: number, nowMs: () => number): NodeJS.Timeout {
  let heardMs = nowMs();
  let unansweredPings = 0;
  const onActivity = () => {
    heardMs = nowMs();
    unansweredPings = 0;
  };
  for (const event of ['open', 'message', 'ping', 'pong']) ws.on(event, onActivity);
  return setInterval(() => {
    if (unansweredPings >= 3 || nowMs() - heardMs > 3 * pingMs) {
      ws.terminate();
    } else if (ws.readyState === WebSocket.OPEN) {
      ws.ping();
      unansweredPings += 1;
    }
  }, pingMs);
}

function sessionSocket(ws: WebSocket, stream: Duplex | undefined): SessionSocket {
  return {
    send: (text) => {
      corkForTurn(stream);
      if (ws.readyState === WebSocket.OPEN) ws.send(text);
    },
    sendBytes: (bytes) =>
      new Promise((resolve) => {
        corkForTurn(stream);
        if (ws.readyState === WebSocket.OPEN) ws.send(bytes, () => resolve());
        else resolve();
      }),
    close: (code, reason) => ws.close(code, Buffer.from(reason).subarray(0, 120).toString()),
  };
}

/** Sends all frames of a turn of the event loop in one write. */
function corkForTurn(stream: Duplex | undefined): void {
  if (!stream || stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}
