/** Sockets between the Worker and objects: one for each channel and each placement. */
import { asciiJson } from '../../../shared/streams/ascii-json.ts';
import type { ObjectSocket, SocketEvents } from '../connections/object-socket.ts';
import type { AwakeTime } from '../sleep/awake-time.ts';

const REQUEST_HEADER = 'berth-request';

/** Asks an object for a socket. Resolves to its answer if it opens none. */
export async function dialObject(
  object: { fetch(request: Request): Promise<Response> },
  path: string,
  request: object,
  events: SocketEvents,
): Promise<ObjectSocket | Response> {
  const headers = { upgrade: 'websocket', [REQUEST_HEADER]: asciiJson(request) };
  const answer = await object.fetch(new Request(`https://object${path}`, { headers }));
  return answer.webSocket ? socketOf(answer.webSocket, events) : answer;
}

/** What an object is asked for. */
export const requestOf = <T>(asked: Request): T => JSON.parse(asked.headers.get(REQUEST_HEADER) ?? '');

/**
 * Serves a socket: `serve` opens the object's end and returns what to do when something arrives there, or
 * answers without a socket. The object stays in memory as long as the socket is open.
 */
export async function acceptSocket(
  awake: Pick<AwakeTime, 'begin'>,
  serve: (open: () => ObjectSocket) => Promise<SocketEvents | Response>,
): Promise<Response> {
  const { 0: reader, 1: server } = new WebSocketPair();
  const served = await serve(() =>
    socketOf(server, {
      message(data) {
        const end = awake.begin();
        events.message(data);
        end();
      },
      closed: () => events.closed(),
    }),
  );
  if (served instanceof Response) return served;
  const events = served;
  return new Response(null, { status: 101, webSocket: reader });
}

/** The runtime answers a close by itself. */
function socketOf(socket: WebSocket, events: SocketEvents): ObjectSocket {
  const closed = () => events.closed();
  // Bytes would arrive as a Blob, which is read later than what follows it.
  socket.binaryType = 'arraybuffer';
  socket.accept();
  socket.addEventListener('message', ({ data }) =>
    events.message(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer)),
  );
  socket.addEventListener('close', closed);
  socket.addEventListener('error', closed);
  return {
    send(data) {
      try {
        socket.send(data);
      } catch {
        // The runtime has noticed the end first; its event may come late.
        closed();
      }
    },
    close: () => socket.close(1000),
  };
}
