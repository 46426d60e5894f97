/** Sends bytes that no HTTP client would send, and parses the answer. */
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Opens a connection and sends `bytes`. Strings are sent as Latin-1: each character is one byte. */
export function dial(url: string, bytes: string | Uint8Array): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  return socket;
}

export interface RawReply {
  status: number;
  reason: string;
  /** Names in lower case, in order of arrival. */
  headers: [name: string, value: string][];
  body: string;
}

/** Reads the only answer on a connection that the server closes. */
export async function answerOn(socket: Socket): Promise<RawReply> {
  const received = (await buffer(socket)).toString('latin1');
  const end = received.indexOf('\r\n\r\n');
  const [line = '', ...headers] = received.slice(0, end).split('\r\n');
  const [, status, reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(line) ?? [];
  if (end < 0 || status === undefined)
    throw new Error(`the answer is not HTTP/1.1: ${JSON.stringify(received)}`);
  const pairs = headers.map((header): [string, string] => {
    const colon = header.indexOf(':');
    return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
  });
  const body = Buffer.from(received.slice(end + 4), 'latin1').toString();
  return { status: Number(status), reason, headers: pairs, body };
}
