/** Owns where a request comes from, by which failed logins are counted. What a client says of itself is not believed. */
import type { Context as HonoContext } from 'hono';

/** The client's address; undefined where it is not known. */
export type AddressOf = (c: HonoContext) => string | undefined;

/** On Node: who is at the other end of the socket. */
export const peerAddress: AddressOf = (c) => {
  const { incoming } = (c.env ?? {}) as { incoming?: { socket: { remoteAddress?: string } } };
  return incoming?.socket.remoteAddress;
};

/** Behind a proxy: the last address in X-Forwarded-For, which that proxy has added; those before are hearsay. */
export const forwardedAddress: AddressOf = (c) =>
  c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim() || peerAddress(c);

/** On Cloudflare, which sets the header itself. */
export const cloudflareAddress: AddressOf = (c) => c.req.header('cf-connecting-ip');
