/** A page of this machine that a browser opens once, to bring back a code to a command. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const DONE = 'You are logged in. Close this page and go on in the terminal.\n';
const HEADERS = { 'content-type': 'text/plain', 'cache-control': 'no-store', connection: 'close' };

export interface Loopback {
  port: number;
  /** Resolves to the code that the browser brings. Rejects if `signal` is aborted before. */
  code: Promise<string>;
}

export async function listenForCode(signal: AbortSignal): Promise<Loopback> {
  const { createServer } = await import('node:http');
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const code = codeAt(server, signal).finally(() => server.close());
  return { port: (server.address() as AddressInfo).port, code };
}

const codeAt = (server: Server, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const code = new URL(request.url ?? '/', 'http://here').searchParams.get('code');
      response.writeHead(code === null ? 404 : 200, HEADERS).end(code === null ? 'No such page.\n' : DONE);
      if (code !== null) resolve(code);
    });
    signal.addEventListener('abort', () => reject(new Error('Nobody has allowed the login.')));
  });
