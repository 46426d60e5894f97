/**
 * The version of the agent protocol. Both sides speak exactly one (PROTOCOL.md P2). Until a release is
 * published the messages may change without a new version, so that their hash tells two checkouts apart.
 */
export const PROTOCOL_VERSION = 1;

/** The first 16 hexadecimal digits of the SHA-256 of the JSON schemas of all messages. A test computes it. */
export const PROTOCOL_HASH = 'a66c981f5579b361';

/** What a side says of its protocol, such as `1-2ae5a61f6248db70`. */
export const protocolText = (version: unknown = PROTOCOL_VERSION, hash: unknown = PROTOCOL_HASH): string =>
  typeof hash === 'string' ? `${version}-${hash}` : String(version);
