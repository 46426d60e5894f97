/** Compresses pages on Node. On workerd the platform does. */
import type { Context as HonoContext, MiddlewareHandler } from 'hono';

export type Gzip = (bytes: Uint8Array) => Uint8Array<ArrayBuffer>;

/** Below this, compression saves no packet. */
const MIN_BYTES = 1_024;
/** Longer pages would keep others waiting. */
const MAX_BYTES = 128 * 1024;

export const GZIP_HEADERS = { 'content-encoding': 'gzip', vary: 'accept-encoding' };

export const acceptsGzip = (c: HonoContext): boolean =>
  c.req.header('accept-encoding')?.includes('gzip') ?? false;

/**
 * Compresses each page as a whole. A stream that compresses would take a quarter of a megabyte for each page
 * that is on its way.
 */
export const gzipped =
  (gzip: Gzip): MiddlewareHandler =>
  async (c, next) => {
    await next();
    if (!acceptsGzip(c) || c.req.method === 'HEAD' || !isPage(c.res)) return;
    const bytes = new Uint8Array(await c.res.arrayBuffer());
    const isSuitable = bytes.byteLength >= MIN_BYTES && bytes.byteLength <= MAX_BYTES;
    const headers = new Headers(c.res.headers);
    if (isSuitable) for (const [name, value] of Object.entries(GZIP_HEADERS)) headers.set(name, value);
    c.res = new Response(isSuitable ? gzip(bytes) : bytes, { status: c.res.status, headers });
  };

const isPage = ({ headers, body }: Response): boolean =>
  body !== null &&
  headers.get('content-type')?.startsWith('text/html') === true &&
  !headers.has('content-encoding');
