/** Streams to commands, ports and files of services by WebSockets (docs/streams.md), and downloads. */
import type { Context as HonoContext } from 'hono';
import { STREAM_SUBPROTOCOL, type StreamPurpose } from '../../../shared/streams/client-messages.ts';
import { type DownloadTarget, filesOutSchema } from '../../../shared/streams/targets.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import { requestStream } from '../../operations/executions/streams.ts';
import { refuseCrossSite } from '../cross-site.ts';
import { originOf, pathId } from '../request.ts';
import type { OpenDownload, Route } from './route.ts';

/** Answers a request for a stream of that purpose. */
export const streamHandler =
  (purpose: StreamPurpose): Route['handle'] =>
  async (c, deps) => {
    // A page of another site could open a WebSocket, although its request is a GET.
    refuseCrossSite(c);
    const actor = c.get('actor');
    const known = actor.kind === 'user' ? { ...actor, origin: originOf(c, deps.addressOf) } : actor;
    const request = await requestStream(deps, known, pathId(c, 'id'), purpose);
    const isUpgrade = c.req.header('upgrade')?.toLowerCase() === 'websocket';
    if (!isUpgrade && purpose === 'files' && c.req.query('path') !== undefined)
      return answerDownload(c, deps.download, request);
    if (!isUpgrade)
      throw new OperationError('no-websocket', 'This address is for WebSockets (docs/streams.md).');
    if (!protocolsOf(c).includes(STREAM_SUBPROTOCOL))
      throw new OperationError('invalid', `Offer the WebSocket subprotocol ${STREAM_SUBPROTOCOL}.`);
    return deps.acceptStream(c, request);
  };

const protocolsOf = (c: HonoContext): string[] =>
  (c.req.header('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());

/** The file or archive that `path` and `form` of the query name. Throws OperationError. */
export async function answerDownload(
  c: HonoContext,
  download: OpenDownload,
  request: StreamRequest,
): Promise<Response> {
  const target = downloadTarget(c);
  const content = await download({ request, target });
  if (c.req.method !== 'HEAD') return fileAnswer(c, target, content);
  // Nobody would read it, and its stream would last until it is idle for too long.
  await content.cancel();
  return fileAnswer(c, target, null);
}

function downloadTarget(c: HonoContext): DownloadTarget {
  const { path, form } = filesOutSchema.shape;
  const target = {
    path: path.safeParse(c.req.query('path')),
    form: form.safeParse(c.req.query('form') ?? 'file'),
  };
  if (!target.path.success)
    throw new OperationError('invalid', 'path: must begin with / and have at most 4096 characters.');
  if (!target.form.success) throw new OperationError('invalid', 'form: must be file or tar.');
  return { path: target.path.data, form: target.form.data };
}

/** Always saved as a file and never shown, since a page in it would be one of this site. */
function fileAnswer(
  c: HonoContext,
  { path, form }: DownloadTarget,
  content: ReadableStream<Uint8Array> | null,
): Response {
  const last = path.split('/').findLast((one) => one !== '' && one !== '.' && one !== '..') ?? 'files';
  const name = `${last.replace(/\p{C}/gu, '_')}${form === 'tar' ? '.tar' : ''}`;
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  const headers = {
    'content-type': form === 'tar' ? 'application/x-tar' : 'application/octet-stream',
    'content-disposition': `attachment; filename*=UTF-8''${encoded}`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
  return content ? c.body(content, 200, headers) : c.body(null, 200, headers);
}
