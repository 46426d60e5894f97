/** Owns bytes on a connection to a control plane that no HTTP client would send, and the reading of what comes back. */
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A connection on which `bytes` were sent. A text is Latin-1: a character is a byte. */
export function dial(url: string, bytes: string | Uint8Array): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  return socket;
}

export interface RawReply {
  status: number;
  reason: string;
  /** In lower case, in order. */
  headers: [name: string, value: string][];
  body: string;
}

/** The one answer on a connection that the server closes. */
export async function answerOn(socket: Socket): Promise<RawReply> {
  const received = (await buffer(socket)).toString('latin1');
  const end = received.indexOf('\r\n\r\n');
  const [line = '', ...headers] = received.slice(0, end).split('\r\n');
  const [, status, reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(line) ?? [];
  if (end < 0 || status === undefined) throw new Error(`no answer but ${JSON.stringify(received)}`);
  const pairs = headers.map((header): [string, string] => {
    const colon = header.indexOf(':');
    return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
  });
  const body = Buffer.from(received.slice(end + 4), 'latin1').toString();
  return { status: Number(status), reason, headers: pairs, body };
}
