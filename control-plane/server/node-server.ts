/**
 * HTTP server on Node: limits on time and connections, and responses to requests that never reach the app. On
 * workerd the platform does this.
 */
import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import { OperationError } from '../core/model/errors.ts';
import { joinChunks, MAX_CHUNKS } from '../guard/body-chunks.ts';
import { type ConnectionSettings, NodeConnections } from '../guard/node-connections.ts';
import { NodePipeline } from '../guard/node-pipeline.ts';
import { errorResponse } from '../http/json/render.ts';
import type { Variant } from '../http/variant.ts';
import { withAppBodies } from './app-bodies.ts';

export interface ServerLimits {
  /** From the first byte of a request to the end of its head; `requestMs`: to the end of its body. */
  headMs: number;
  requestMs: number;
  /** How often these two limits are checked. */
  checkMs: number;
  /** Idle time of a connection before TCP keep-alive probes begin. */
  quietMs: number;
  /** How long a body may take before another request may take the place of its request. */
  bodyGraceMs: number;
  /** How long a peer may read nothing of what it was sent. */
  stallMs: number;
  /** Refused connections and requests are reported this long after the first of them. */
  reportMs: number;
}

const LIMITS: ServerLimits = {
  headMs: 15_000,
  requestMs: 60_000,
  checkMs: 5_000,
  quietMs: 60_000,
  bodyGraceMs: 5_000,
  stallMs: 60_000,
  reportMs: 10_000,
};

type Fetch = Parameters<typeof getRequestListener>[0];

export interface ServerSettings extends Pick<ConnectionSettings, 'trustsProxy' | 'log'> {
  variant: Variant;
  /** True for upgrades that the server's `upgrade` event handles. Any other is served as a plain request. */
  isUpgrade: (request: IncomingMessage) => boolean;
  /** True for requests to applications, whose bodies may take any time and any number of chunks. */
  isApp?: (request: IncomingMessage) => boolean;
  connectionLimits: ConnectionSettings['limits'];
  limits?: ServerLimits;
}

/** The server is not listening yet. */
export function httpServer(
  fetch: Fetch,
  { variant, isUpgrade, isApp, connectionLimits, limits = LIMITS, trustsProxy, log }: ServerSettings,
): { server: Server; connections: NodeConnections } {
  const malformed = (problem: string) =>
    errorResponse(new OperationError('invalid', `The request is malformed: ${problem}.`), variant);
  const answer = getRequestListener(isApp ? withAppBodies(fetch) : fetch, {
    // For requests of HTTP/1.0, which need not name a host.
    hostname: 'localhost',
    errorHandler: (error) =>
      error instanceof RequestError ? malformed(error.message) : errorResponse(undefined, variant),
  });
  const options = {
    ServerResponse: ReasonedResponse,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    shouldUpgradeCallback: (request: IncomingMessage) =>
      isUpgrade(request) && hostProblem(request) === undefined,
    // Detects subscribers of quiet logs that have vanished; otherwise they would count against the user's
    // limit for ever.
    keepAlive: true,
    keepAliveInitialDelay: limits.quietMs,
    // Such requests are refused below, with an explanation.
    requireHostHeader: false,
  };
  const server = createServer(options);
  server.setTimeout(limits.stallMs);
  const connections = new NodeConnections(server, {
    limits: connectionLimits,
    bodyGraceMs: limits.bodyGraceMs,
    reportMs: limits.reportMs,
    trustsProxy,
    log,
    answer: (socket, error) => answerAlone(socket, errorResponse(error, variant)),
  });
  const pipeline = new NodePipeline(connectionLimits.pipelined);
  /** Connections with a request to an application. */
  const untimed = new WeakSet<Duplex>();
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const isUntimed = isApp?.(request) === true;
    if (isUntimed) {
      untimed.add(request.socket);
      response.once('close', () => untimed.delete(request.socket));
    }
    const tooMany = () => {
      // Without a socket, the response is complete, or waits for an earlier one.
      if (response.socket) answerAlone(request.socket, errorResponse(tooManyChunks(), variant));
      else request.socket.destroy();
    };
    joinChunks(request, isUntimed ? undefined : tooMany);
    pipeline.inTurn(request, response, (isExcess) => {
      const refused = isExcess ? connections.refuseExcess() : connections.begin(request, response);
      if (refused) return void refuse(response, errorResponse(refused, variant));
      const problem = hostProblem(request);
      if (problem === undefined) return void answer(request, response);
      write(request.socket, 400, malformed(problem));
    });
  };
  server.on('request', serve);
  // Unknown expectations may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', serve);
  server.on('connect', (_request, socket) => write(socket, 400, malformed('it is meant for a proxy')));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && untimed.has(socket)) return;
    const [status, problem] = CLIENT_ERRORS[error.code ?? ''] ?? [400, 'it is not HTTP/1.1'];
    answerAlone(socket, malformed(problem), status);
  });
  return { server, connections };
}

/** What is wrong with the host that the request names (RFC 9112, 3.2). */
function hostProblem({
  headersDistinct: { host = [] },
  httpVersionMinor,
}: IncomingMessage): string | undefined {
  if (host.length > 1) return 'it has more than one Host header';
  return host.length === 0 && httpVersionMinor > 0 ? 'it has no Host header' : undefined;
}

/** Errors that Node finds before there is a request, with Node's own status codes. */
const CLIENT_ERRORS: Record<string, [status: number, problem: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'its head is larger than 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'its chunk extensions are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'it did not arrive in time'],
};

const tooManyChunks = () =>
  new OperationError('too-large', `The body has more than ${MAX_CHUNKS} chunks: send larger ones.`);

/** Characters. */
const LONG_TEXT = 64 * 1024;

/** Uses the Status header as the reason phrase, which a Response cannot carry to this point. */
class ReasonedResponse extends ServerResponse {
  override writeHead(status: number, ...rest: never[]): this {
    const headers: unknown = rest.at(-1);
    if (headers && typeof headers === 'object' && 'status' in headers)
      this.statusMessage = String(headers.status);
    return super.writeHead(status, ...rest);
  }

  /** Node would write the head as UTF-8, but each character of a header is a byte. */
  override flushHeaders(): void {
    if (this.headersSent && !this.writableEnded) this.write(new Uint8Array());
    else super.flushHeaders();
  }

  /** Node reserves three bytes for each character of a text, until its client has read it. */
  override end(...[content, ...rest]: unknown[]): this {
    const isLong = typeof content === 'string' && content.length > LONG_TEXT;
    return super.end(isLong ? Buffer.from(content) : content, ...(rest as []));
  }
}

/** True if an answer has begun on this connection. A second one would corrupt it. */
const isAnswered = (socket: Duplex) =>
  (socket as { _httpMessage?: ServerResponse })._httpMessage?.headersSent === true;

/** Answers in place of any further answer, unless one has begun, and closes the connection. */
function answerAlone(socket: Duplex, response: Response, status = response.status): void {
  if (!socket.writable || isAnswered(socket)) return void socket.destroy();
  write(socket, status, response);
}

/** Answers a request that is not served, and closes the connection. */
async function refuse(response: ServerResponse, refusal: Response): Promise<void> {
  const body = await refusal.text();
  response.writeHead(refusal.status, { ...Object.fromEntries(refusal.headers), connection: 'close' });
  response.end(body);
}

/** Writes the answer and closes the connection, since the start of the next request is unknown. */
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
