/**
 * Masks of what a WebSocket client sends (RFC 6455, 5.3). They hide the bytes from intermediaries that take
 * them for HTTP. Where none can be, the key is zero: the bytes stay as they are, and neither side computes
 * (P302).
 */

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);

/** Options of ws. No intermediary sits between two programs of one machine, and none reads through TLS. */
export const maskOptions = (url: {
  protocol: string;
  hostname: string;
}): { generateMask?(key: Uint8Array): void } =>
  ['https:', 'wss:'].includes(url.protocol) || isLoopback(url.hostname)
    ? { generateMask: (key) => void key.fill(0) }
    : {};
