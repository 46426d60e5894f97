/** URL schemes that an endpoint may have: those of network services. No browser runs them as a program. */
export const ENDPOINT_SCHEMES = [
  ...['amqp', 'amqps', 'dns', 'ftp', 'ftps', 'grpc', 'grpcs', 'hdfs', 'http', 'https', 'kafka', 'ldap'],
  ...['ldaps', 'mongodb', 'mqtt', 'mqtts', 'mysql', 'nats', 'nfs', 'postgres', 'postgresql', 'rdp', 'redis'],
  ...['rediss', 'rtmp', 'rtsp', 'sftp', 'spark', 'ssh', 'tcp', 'tls', 'udp', 'vnc', 'ws', 'wss'],
] as const;

/** A pattern of JSON Schema has no flag that ignores case. */
const inAnyCase = (word: string): string =>
  [...word].map((letter) => `[${letter}${letter.toUpperCase()}]`).join('');

/** What URL parsers take for a scheme: they skip leading spaces, and tabs and line ends anywhere. */
const SCHEME = '[\\x00-\\x20]*[a-zA-Z][a-zA-Z0-9+.\\t\\n\\r-]*:';

/** Matches texts that begin with one of the schemes, or with no scheme at all. */
export const ENDPOINT_URL = new RegExp(
  `^(?:(?:${ENDPOINT_SCHEMES.map(inAnyCase).join('|')}):|(?!${SCHEME}))`,
);

export const ENDPOINT_URL_PROBLEM = `must begin with one of these schemes, or with none: ${ENDPOINT_SCHEMES.join(', ')}`;
