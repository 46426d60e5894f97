/**
 * Client address of a request, under which failed logins are counted. A header that the client itself could
 * set is never trusted.
 */
import type { Context as HonoContext } from 'hono';

/** The client's address; undefined if it is not known. */
export type AddressOf = (c: HonoContext) => string | undefined;

/** On Node: the address of the socket's peer. */
export const peerAddress: AddressOf = (c) => {
  const { incoming } = (c.env ?? {}) as { incoming?: { socket: { remoteAddress?: string } } };
  return incoming?.socket.remoteAddress;
};

/**
 * Behind a proxy: the last address in X-Forwarded-For, which the proxy added. The earlier ones can be forged.
 */
export const forwardedAddress: AddressOf = (c) =>
  c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim() || peerAddress(c);

/** On Cloudflare, which sets this header itself. */
export const cloudflareAddress: AddressOf = (c) => c.req.header('cf-connecting-ip');
