/** A web application for tests of the relay, on loopback: streams, uploads, downloads and WebSockets. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { listenOn } from '../hosts/port.ts';

export interface AppServer {
  port: number;
  /** What has arrived, newest last. */
  requests: IncomingMessage[];
  /** Responses that a test writes. */
  held: ServerResponse[];
  sockets: WebSocket[];
  /** Requests that broke off. */
  aborted: string[];
  close(): Promise<void>;
}

const BLOCK = Buffer.alloc(64 * 1024, 'berth');

type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

const paths: Record<string, Handler> = {
  '/head': ({ method, url, rawHeaders }, response) =>
    response.end(JSON.stringify({ method, url, headers: rawHeaders })),
  '/echo': (request, response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.flushHeaders();
    request.pipe(response);
  },
  '/count': async (request, response) => {
    let bytes = 0;
    for await (const chunk of request) bytes += chunk.length;
    response.end(String(bytes));
  },
  '/bytes': (request, response, url) => {
    const length = Number(url.searchParams.get('n'));
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': length, etag: '"one"' });
    if (request.method === 'HEAD') response.end();
    else void sendBytes(response, length);
  },
  '/chunked': (_, response, url) => void sendBytes(response, Number(url.searchParams.get('n'))),
  '/range': ({ headers }, response) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const part = BLOCK.subarray(Number(from), Number(to) + 1);
    response.writeHead(206, {
      'content-range': `bytes ${from}-${to}/${BLOCK.length}`,
      'content-length': part.length,
    });
    response.end(part);
  },
  '/status': (_, response, url) => {
    response.writeHead(Number(url.searchParams.get('n')), [
      ...['location', '/elsewhere', 'set-cookie', 'a=1', 'set-cookie', 'b=2', 'content-encoding', 'gzip'],
      ...['connection', 'close, x-hop', 'x-hop', 'secret', 'proxy-authenticate', 'Basic'],
    ]);
    response.end();
  },
  /** Answers at once, and reads nothing of the body. */
  '/early': (_, response) => {
    response.writeHead(413, { connection: 'close' });
    response.end('too large');
  },
  /** So many informational answers before the answer. */
  '/processing': (_, response, url) => {
    for (let n = 0; n < Number(url.searchParams.get('n')); n += 1) response.writeProcessing();
    response.end('done');
  },
  /** Each character of a header is a byte. */
  '/bytes-in-header': (_, response) => {
    response.writeHead(200, { 'x-bytes': '\u00c3\u00a4' });
    response.end('small');
  },
  '/broken': (_, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('some', () => response.socket?.destroy());
  },
};

/** Ends early if the client goes. */
const sendBytes = (response: ServerResponse, length: number): Promise<void> =>
  pipeline(Readable.from(blocksOf(length)), response).catch(() => {});

function* blocksOf(length: number): Generator<Buffer> {
  for (let left = length; left > 0; left -= BLOCK.length) yield BLOCK.subarray(0, left);
}

export async function startAppServer(): Promise<AppServer> {
  const server = createServer();
  const connections = new Set<Socket>();
  const app: AppServer = {
    ...{ port: 0, requests: [], held: [], sockets: [], aborted: [] },
    async close() {
      for (const socket of app.sockets) socket.terminate();
      for (const connection of connections) connection.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    app.requests.push(request);
    const url = new URL(request.url ?? '/', 'http://app');
    response.on('close', () => {
      if (!response.writableFinished) app.aborted.push(url.pathname);
    });
    const handler = paths[url.pathname];
    if (handler) handler(request, response, url);
    else app.held.push(response);
  });
  const wss = new WebSocketServer({
    noServer: true,
    perMessageDeflate: true,
    maxPayload: 2 ** 30,
    handleProtocols: (offered) => (offered.has('chosen') ? 'chosen' : false),
  });
  server.on('upgrade', (request, socket, head) => {
    app.requests.push(request);
    if (request.url === '/refused') return void socket.end('HTTP/1.1 403 No\r\ncontent-length: 3\r\n\r\nno!');
    if (request.url === '/liar')
      return void socket.write('HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n');
    wss.handleUpgrade(request, socket, head, (client) => {
      app.sockets.push(client);
      client.on('error', () => client.terminate());
      if (request.url === '/mute') return;
      client.on('message', (data, isBinary) => client.send(data, { binary: isBinary }));
    });
  });
  app.port = await listenOn(server);
  return app;
}
