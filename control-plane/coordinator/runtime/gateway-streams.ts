/**
 * Clients' WebSockets of streams on workerd: the Worker authorises, and the gateway of the host joins the
 * socket with the agent's. Neither the Worker nor the coordinator sees the bytes.
 */
import { STREAM_SUBPROTOCOL } from '../../../shared/streams/client-messages.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { AwakeTime } from '../sleep/awake-time.ts';
import { type ClientSocket, NO_CLOSE } from '../streams/client-end.ts';
import type { ResumableStreams } from '../streams/resumable-streams.ts';
import { StreamConnection } from '../streams/stream-connection.ts';
import type { StreamSessionDeps } from '../streams/stream-session.ts';

/** The path and the header of a request from the Worker to a gateway. No agent can choose this path. */
export const STREAM_PATH = '/stream';
const REQUEST_HEADER = 'berth-stream';

/** Resolves to the answer to the client's upgrade. */
export async function forwardStream(
  gateway: { fetch(request: Request): Promise<Response> },
  request: StreamRequest,
): Promise<Response> {
  const headers = {
    upgrade: 'websocket',
    'sec-websocket-protocol': STREAM_SUBPROTOCOL,
    [REQUEST_HEADER]: JSON.stringify(request),
  };
  let answer: Response;
  try {
    answer = await gateway.fetch(new Request(`https://gateway${STREAM_PATH}`, { headers }));
  } catch (cause) {
    throw new OperationError('unavailable', 'The gateway does not answer; try again.', { cause });
  }
  // A copy, since the headers of an answer to fetch can't be changed.
  return new Response(null, {
    status: 101,
    webSocket: answer.webSocket,
    headers: new Headers(answer.headers),
  });
}

/**
 * Accepts a client that the Worker has authorised. The object stays awake as long as the stream lasts, also
 * while its client is away.
 */
export function acceptStream(
  forwarded: Request,
  awake: AwakeTime,
  deps: StreamSessionDeps,
  resumable: ResumableStreams,
): Response {
  const request: StreamRequest = JSON.parse(forwarded.headers.get(REQUEST_HEADER) ?? '');
  const { 0: webSocket, 1: server } = new WebSocketPair();
  // Bytes would arrive as a Blob, which is read later than what follows it.
  server.binaryType = 'arraybuffer';
  server.accept();
  const attempt = (act: () => void) => {
    try {
      act();
    } catch {
      // The runtime has noticed the end first; its event may come late.
      connection.closed(NO_CLOSE);
    }
  };
  const client: ClientSocket = {
    send: (data) => attempt(() => server.send(data)),
    close: (code, reason) => attempt(() => server.close(code, reason)),
  };
  const connection: StreamConnection = new StreamConnection(client, request, deps, resumable);
  server.addEventListener('message', ({ data }) => {
    const end = awake.begin();
    connection.receive(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer));
    end();
  });
  server.addEventListener('close', ({ code }) => connection.closed(code));
  server.addEventListener('error', () => connection.closed(NO_CLOSE));
  return new Response(null, {
    status: 101,
    webSocket,
    headers: { 'sec-websocket-protocol': STREAM_SUBPROTOCOL },
  });
}
