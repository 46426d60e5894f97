/**
 * Connects to the directory by TCP, and encrypts the connection: TLS from the start, or StartTLS (RFC 4511,
 * 4.14). Nothing but the request of StartTLS is sent before the directory's certificate was verified.
 */
import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Connection } from './connection.ts';
import type { LdapAddress } from './ldap-settings.ts';

/** `ca`: authorities in PEM; undefined: those of Node. An abort destroys the socket. */
export async function openConnection(
  { host, port, tls }: LdapAddress,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<Connection> {
  const options: ConnectionOptions = {
    host,
    port,
    ...(ca !== undefined && { ca }),
    // A literal address must not be sent as a server name; certificates are compared with it all the same.
    ...(isIP(host) === 0 && { servername: host }),
  };
  if (tls === 'from-start') return new Connection(await opened(connectTls(options), 'secureConnect', signal));
  const plain = new Connection(await opened(connect({ host, port }), 'connect', signal));
  if (tls === 'none') return plain;
  try {
    const socket = await plain.use(signal, () => plain.beginTls());
    return new Connection(await opened(connectTls({ ...options, socket }), 'secureConnect', signal));
  } catch (error) {
    plain.close();
    throw error;
  }
}

/** Resolves once the socket has emitted `event`. */
function opened<T extends Socket>(
  socket: T,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => socket.destroy(signal.reason as Error);
    const settle = (run: () => void) => {
      signal.removeEventListener('abort', abort);
      run();
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    socket.once(event, () => settle(() => resolve(socket)));
    // An error after this must not end the process: what reads from the socket sees that it has ended.
    socket.on('error', (error) => settle(() => reject(error)));
    socket.once('close', () => settle(() => reject(new Error('The directory has closed the connection.'))));
  });
}
