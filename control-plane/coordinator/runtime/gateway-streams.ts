/**
 * Clients' WebSockets of streams on workerd: the Worker authorises, and the gateway of the host joins the
 * socket with the agent's. Neither the Worker nor the coordinator sees the bytes.
 */
import { STREAM_SUBPROTOCOL } from '../../../shared/streams/client-messages.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { AwakeTime } from '../sleep/awake-time.ts';
import { StreamSession, type StreamSessionDeps } from '../streams/stream-session.ts';

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

/** Accepts a client that the Worker has authorised. The object stays awake as long as the stream lasts. */
export function acceptStream(forwarded: Request, awake: AwakeTime, deps: StreamSessionDeps): Response {
  const request: StreamRequest = JSON.parse(forwarded.headers.get(REQUEST_HEADER) ?? '');
  const { 0: client, 1: server } = new WebSocketPair();
  // Bytes would arrive as a Blob, which is read later than what follows it.
  server.binaryType = 'arraybuffer';
  server.accept();
  const session: StreamSession = new StreamSession(
    {
      send: (data) => {
        try {
          server.send(data);
        } catch {
          // The runtime has noticed the end first; its event may come late.
          session.closed();
        }
      },
      close: (code, reason) => server.close(code, reason),
    },
    request,
    deps,
  );
  server.addEventListener('message', ({ data }) => {
    const end = awake.begin();
    session.receive(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer));
    end();
  });
  const closed = () => session.closed();
  server.addEventListener('close', closed);
  server.addEventListener('error', closed);
  return new Response(null, {
    status: 101,
    webSocket: client,
    headers: { 'sec-websocket-protocol': STREAM_SUBPROTOCOL },
  });
}
