/**
 * Owns HTTP on Node: how long and how much a peer may keep the server busy, and the answers to what never becomes a
 * request of the app. On workerd its host does this.
 */
import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import { OperationError } from './core/model/errors.ts';
import { errorResponse } from './http/json/render.ts';
import type { Variant } from './http/variants/variant.ts';

export interface ServerLimits {
  /** From the first byte of a request to the end of its head, and to the end of its body. */
  headMs: number;
  requestMs: number;
  /** How often these two are looked at. */
  checkMs: number;
  /** How long a connection may be quiet before its peer's machine is asked whether that is still there. */
  quietMs: number;
  /** Open at the same time, agents and readers of logs among them; more are closed unanswered. */
  connections: number;
}

const LIMITS: ServerLimits = {
  headMs: 15_000,
  requestMs: 60_000,
  checkMs: 5_000,
  quietMs: 60_000,
  connections: 5_000,
};

type Fetch = Parameters<typeof getRequestListener>[0];

export interface ServerSettings {
  variant: Variant;
  /** Which upgrades are for the server's `upgrade` event; any other is a plain request, as HTTP has it. */
  isUpgrade: (request: IncomingMessage) => boolean;
  limits?: ServerLimits;
}

/** A server that does not listen yet. */
export function httpServer(fetch: Fetch, { variant, isUpgrade, limits = LIMITS }: ServerSettings): Server {
  const malformed = (problem: string) =>
    errorResponse(new OperationError('invalid', `The request is malformed: ${problem}.`), variant);
  const answer = getRequestListener(fetch, {
    // Of requests of HTTP/1.0, which may name no host.
    hostname: 'localhost',
    errorHandler: (error) =>
      error instanceof RequestError ? malformed(error.message) : errorResponse(undefined, variant),
  });
  const options = {
    ServerResponse: ReasonedResponse,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    shouldUpgradeCallback: isUpgrade,
    // A reader of a log that is quiet would never be missed; nor would its place among those that a user may have.
    keepAlive: true,
    keepAliveInitialDelay: limits.quietMs,
    // Refused below, in words.
    requireHostHeader: false,
  };
  const server = createServer(options, (request, response) => {
    if (request.headers.host !== undefined || request.httpVersionMinor === 0)
      return answer(request, response);
    write(request.socket, 400, malformed('it names no host'));
  });
  server.maxConnections = limits.connections;
  // An expectation that is not known may be passed over (RFC 9110, 10.1.1).
  server.on('checkExpectation', answer);
  server.on('connect', (_request, socket) => write(socket, 400, malformed('it is for a proxy')));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || isAnswered(socket)) return socket.destroy();
    const [status, problem] = CLIENT_ERRORS[error.code ?? ''] ?? [400, 'it is not HTTP/1.1'];
    write(socket, status, malformed(problem));
  });
  return server;
}

/** What Node finds wrong before there is a request; statuses as Node's own. */
const CLIENT_ERRORS: Record<string, [status: number, problem: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'its head is larger than 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'its chunk extensions are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'it did not arrive in time'],
};

/** The text of the Status header is the reason phrase, too: a Response has none that would get here. */
class ReasonedResponse extends ServerResponse {
  override writeHead(status: number, ...rest: never[]): this {
    const headers: unknown = rest.at(-1);
    if (headers && typeof headers === 'object' && 'status' in headers)
      this.statusMessage = String(headers.status);
    return super.writeHead(status, ...rest);
  }
}

/** Whether an answer has begun on this connection, which a second one would garble. */
const isAnswered = (socket: Duplex) =>
  (socket as { _httpMessage?: ServerResponse })._httpMessage?.headersSent === true;

/** Writes the answer and closes the connection: where a next request would begin is unknown. */
function write(socket: Duplex, status: number, response: Response): void {
  void response.text().then((body) => {
    const reason = response.headers.get('status') ?? STATUS_CODES[status];
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const length = `content-length: ${Buffer.byteLength(body)}\r\n`;
    socket.end(`HTTP/1.1 ${status} ${reason}\r\n${headers}${length}connection: close\r\n\r\n${body}`, () =>
      socket.destroy(),
    );
  });
}
