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

/** Opens the content of a file. Throws OperationError if there is none. */
export type OpenDownload = (one: {
  request: StreamRequest;
  path: string;
}) => Promise<ReadableStream<Uint8Array>>;

export interface StreamHost {
  acceptStream: AcceptStream;
  download: OpenDownload;
}

const MAX_PATH_LENGTH = 4_096;
const PURPOSES: readonly StreamPurpose[] = ['exec', 'forward', 'files'];

export function streamRoutes(context: Context, host: StreamHost, addressOf: AddressOf): Hono<Env> {
  const routes = new Hono<Env>();
  for (const purpose of PURPOSES)
    routes.get(`/:id/${purpose}`, async (c) => {
      // A page of another site could open a WebSocket, although its request is a GET.
      refuseCrossSite(c);
      const actor = c.get('actor');
      const known = actor.kind === 'user' ? { ...actor, origin: originOf(c, addressOf) } : actor;
      const request = await requestStream(context, known, pathId(c, 'id'), purpose);
      const isUpgrade = c.req.header('upgrade')?.toLowerCase() === 'websocket';
      const path = c.req.query('path');
      if (!isUpgrade && purpose === 'files' && path !== undefined)
        return fileAnswer(c, path, await host.download({ request, path: absolutePath(path) }));
      if (!isUpgrade)
        throw new OperationError('no-websocket', 'This address is for WebSockets (docs/streams.md).');
      if (!protocolsOf(c).includes(STREAM_SUBPROTOCOL))
        throw new OperationError('invalid', `Offer the WebSocket subprotocol ${STREAM_SUBPROTOCOL}.`);
      return host.acceptStream(c, request);
    });
  return routes;
}

const protocolsOf = (c: HonoContext): string[] =>
  (c.req.header('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());

function absolutePath(path: string): string {
  if (path.startsWith('/') && path.length <= MAX_PATH_LENGTH && !path.includes('\0')) return path;
  throw new OperationError(
    'invalid',
    `path: must begin with / and have at most ${MAX_PATH_LENGTH} characters.`,
  );
}

/** Always saved as a file and never shown, since a page in it would be one of this site. */
function fileAnswer(c: HonoContext, path: string, content: ReadableStream<Uint8Array>): Response {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\p{C}/gu, '_');
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return c.body(content, 200, {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename*=UTF-8''${encoded}`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
}
