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
  lastForwarded(c.req.header('x-forwarded-for')) ?? peerAddress(c);

/** The last address of an X-Forwarded-For header. */
export const lastForwarded = (header: string | undefined): string | undefined =>
  header && withoutPort(header.slice(header.lastIndexOf(',') + 1).trim());

/** Some proxies add the port, which a client changes with each connection. Undefined for an empty text. */
const withoutPort = (text: string): string | undefined => {
  const [, inBrackets, plain] = WITH_PORT.exec(text) ?? [];
  return inBrackets || plain || text || undefined;
};

const WITH_PORT = /^(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/;

/** On Cloudflare, which sets this header itself. */
export const cloudflareAddress: AddressOf = (c) => c.req.header('cf-connecting-ip');

/** An IPv4 address as it is, also where the socket has it as an IPv6 address. */
export const plainAddress = (address: string | undefined): string | undefined =>
  address?.replace(/^::ffff:(?=\d+\.)/i, '');
