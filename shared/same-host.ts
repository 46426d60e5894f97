/**
 * Which host names are one host to browsers. Over plain http a cookie goes to every port of the host that set
 * it, and any of these ports may replace it.
 */

/** Part of every host, but of none of the libraries that this folder may use. */
declare const URL: { new (text: string): { hostname: string }; canParse(text: string): boolean };

/** Names and addresses that lead to the loopback address of the machine on which they are opened. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '[::ffff:7f00:1]', '0.0.0.0', '[::]']);

/** Whether two host names, or IP addresses, lead to the same host as far as their text shows. */
export const isSameHost = (one: string, other: string): boolean => canonical(one) === canonical(other);

/**
 * Whether a browser sends the cookies of a page at `own` to `url`, at whatever port: over https also those
 * that are for https only.
 */
export const getsCookiesOf = (
  own: { protocol: string; hostname: string },
  url: { protocol: string; hostname: string },
): boolean =>
  (own.protocol === 'http:' || url.protocol === 'https:') && isSameHost(own.hostname, url.hostname);

/** Whether the name leads to 127.0.0.1 or ::1. Other addresses of 127.0.0.0/8 are other hosts. */
export const isCommonLoopback = (name: string): boolean => canonical(name) === 'localhost';

/** One text for all spellings of an address, and for all names of loopback. */
function canonical(name: string): string {
  const bracketed = name.includes(':') && !name.startsWith('[') ? `[${name.replace(/%.*/, '')}]` : name;
  const url = `http://${bracketed}`;
  const host = (URL.canParse(url) ? new URL(url).hostname : name).replace(/\.$/, '').toLowerCase();
  return LOOPBACK.has(host) || host.endsWith('.localhost') ? 'localhost' : host;
}
