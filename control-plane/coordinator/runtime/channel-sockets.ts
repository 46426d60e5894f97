/** Sockets between the Worker and a gateway: one for each channel that the Worker reads there. */
import type { Gateway } from '../gateways/gateway.ts';
import type { DialGateway } from '../gateways/gateway-channels.ts';
import type { AwakeTime } from '../sleep/awake-time.ts';
import { acceptSocket, dialObject, requestOf } from './object-sockets.ts';

/** The path of a request from the Worker to a gateway. No agent can choose this path. */
export const CHANNEL_PATH = '/channel';
const FULL = 503;
const NOT_HERE = 404;

type GatewayOf = (gateway: number) => { fetch(request: Request): Promise<Response> };

export const dialling =
  (gatewayOf: GatewayOf): DialGateway =>
  async (gateway, request, events) => {
    const answer = await dialObject(gatewayOf(gateway), CHANNEL_PATH, request, events);
    if (!(answer instanceof Response)) return answer;
    return answer.status === FULL ? 'full' : undefined;
  };

/** Serves a channel to the Worker. */
export const acceptChannel = (
  asked: Request,
  awake: Pick<AwakeTime, 'begin'>,
  gateway: Gateway,
): Promise<Response> =>
  acceptSocket(awake, async (open) => {
    const passed = await gateway.pass(requestOf(asked), open);
    if (!passed) return new Response(null, { status: NOT_HERE });
    if (passed === 'full') return new Response(null, { status: FULL });
    return { message: (data) => passed.receive(data), closed: () => passed.closed() };
  });
