/** Routes of streams: WebSockets to commands, ports and files of services (docs/streams.md). */
import { Hono, type Context as HonoContext } from 'hono';
import { STREAM_SUBPROTOCOL, type StreamPurpose } from '../../shared/streams/client-messages.ts';
import { OperationError } from '../core/model/errors.ts';
import type { StreamRequest } from '../core/streams/stream-request.ts';
import type { Context } from '../operations/context.ts';
import { requestStream } from '../operations/executions/streams.ts';
import type { AddressOf } from './address.ts';
import { refuseCrossSite } from './cross-site.ts';
import { type Env, originOf, pathId } from './request.ts';

/** Answers the upgrade of a request that may open the stream. */
export type AcceptStream = (c: HonoContext, request: StreamRequest) => Response | Promise<Response>;

const PURPOSES: readonly StreamPurpose[] = ['exec', 'forward', 'files'];

export function streamRoutes(context: Context, accept: AcceptStream, addressOf: AddressOf): Hono<Env> {
  const routes = new Hono<Env>();
  for (const purpose of PURPOSES)
    routes.get(`/:id/${purpose}`, async (c) => {
      // A page of another site could open a WebSocket, although its request is a GET.
      refuseCrossSite(c);
      const actor = c.get('actor');
      const known = actor.kind === 'user' ? { ...actor, origin: originOf(c, addressOf) } : actor;
      const request = await requestStream(context, known, pathId(c, 'id'), purpose);
      if (c.req.header('upgrade')?.toLowerCase() !== 'websocket')
        throw new OperationError('no-websocket', 'This address is for WebSockets (docs/streams.md).');
      if (!protocolsOf(c).includes(STREAM_SUBPROTOCOL))
        throw new OperationError('invalid', `Offer the WebSocket subprotocol ${STREAM_SUBPROTOCOL}.`);
      return accept(c, request);
    });
  return routes;
}

const protocolsOf = (c: HonoContext): string[] =>
  (c.req.header('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());
