/** Sockets between the Worker and a gateway: one for each channel that the Worker reads there. */
import { asciiJson } from '../../../shared/streams/ascii-json.ts';
import type { Gateway } from '../gateways/gateway.ts';
import type { DialGateway } from '../gateways/gateway-channels.ts';
import type { ChannelRequest } from '../gateways/passed-channel.ts';
import type { AwakeTime } from '../sleep/awake-time.ts';

/** The path and the header of a request from the Worker to a gateway. No agent can choose this path. */
export const CHANNEL_PATH = '/channel';
const REQUEST_HEADER = 'berth-channel';
const FULL = 503;
const NOT_HERE = 404;

type GatewayOf = (gateway: number) => { fetch(request: Request): Promise<Response> };

export const dialling =
  (gatewayOf: GatewayOf): DialGateway =>
  async (gateway, request, events) => {
    const headers = { upgrade: 'websocket', [REQUEST_HEADER]: asciiJson(request) };
    const asked = new Request(`https://gateway${CHANNEL_PATH}`, { headers });
    const { status, webSocket } = await gatewayOf(gateway).fetch(asked);
    if (!webSocket) return status === FULL ? 'full' : undefined;
    webSocket.binaryType = 'arraybuffer';
    webSocket.accept();
    webSocket.addEventListener('message', ({ data }) => events.message(bytesOrText(data)));
    webSocket.addEventListener('close', () => events.closed());
    webSocket.addEventListener('error', () => events.closed());
    return socketOf(webSocket, () => events.closed());
  };

/** Serves a channel to the Worker. The object stays awake as long as it lasts. */
export async function acceptChannel(
  asked: Request,
  awake: Pick<AwakeTime, 'begin'>,
  gateway: Gateway,
): Promise<Response> {
  const request: ChannelRequest = JSON.parse(asked.headers.get(REQUEST_HEADER) ?? '');
  const { 0: reader, 1: server } = new WebSocketPair();
  server.binaryType = 'arraybuffer';
  const passed = await gateway.pass(request, () => {
    server.accept();
    return socketOf(server, () => closed());
  });
  if (!passed) return new Response(null, { status: NOT_HERE });
  if (passed === 'full') return new Response(null, { status: FULL });
  const closed = () => passed.closed();
  server.addEventListener('message', ({ data }) => {
    const end = awake.begin();
    passed.receive(bytesOrText(data));
    end();
  });
  server.addEventListener('close', closed);
  server.addEventListener('error', closed);
  return new Response(null, { status: 101, webSocket: reader });
}

const bytesOrText = (data: unknown): string | Uint8Array =>
  typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer);

/** `lost`: the runtime has noticed the end first; its event may come late. */
const socketOf = (socket: WebSocket, lost: () => void) => ({
  send(data: string | Uint8Array) {
    try {
      socket.send(data);
    } catch {
      lost();
    }
  },
  close: () => socket.close(1000),
});
