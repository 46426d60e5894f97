/** An engine whose answers a test writes, on a socket of its own, with the real client of it. */
import { createServer, type RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { onTestFinished } from 'vitest';
import { connectEngine, unixHost } from '../../../agent/engine/engine-address.ts';
import { scratchDir } from '../agents/agent-rig.ts';

/**
 * The client of an engine with these answers, until the test ends. `upgraded` gets the connections of
 * commands.
 */
export async function engineWith(
  answers: RequestListener,
  upgraded?: (socket: Duplex) => void,
): Promise<Docker> {
  const server = createServer(answers);
  if (upgraded)
    server.on('upgrade', (_, socket, head) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
      // The body of the request comes first.
      if (head.length > 0) upgraded(socket);
      else socket.once('data', () => upgraded(socket));
    });
  const { path, remove } = await scratchDir();
  const socket = `${path}/engine.sock`;
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await remove();
  });
  return connectEngine(unixHost(socket));
}

export interface EngineRequest {
  /** For example `POST /networks/create`. */
  call: string;
  query: URLSearchParams;
  filters: Record<string, string[]>;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON.
  body: any;
}

/** What a route throws for an answer that is an error. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An engine that answers by what this function returns or throws. Without a result it answers 404. */
export async function scriptedEngine(
  answer: (request: EngineRequest) => unknown,
  upgraded?: (socket: Duplex) => void,
): Promise<{ docker: Docker; calls: string[] }> {
  const calls: string[] = [];
  const docker = await engineWith(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://engine');
    const call = `${request.method} ${decodeURIComponent(url.pathname)}`;
    calls.push(call);
    const query = url.searchParams;
    const filters = JSON.parse(query.get('filters') ?? '{}');
    const body = request.headers['content-type']?.includes('json') ? await json(request) : undefined;
    const [status, value] = await Promise.resolve()
      .then(() => answer({ call, query, filters, body }))
      .then(
        (result) => (result === undefined ? [404, { message: `no such thing: ${call}` }] : [200, result]),
        (error) => [error.status ?? 500, { message: error.message }],
      );
    // Without a status the connection breaks.
    if (status === 0) return request.destroy();
    if (request.method === 'DELETE' && status === 200) return response.writeHead(204).end();
    const code = status === 200 && call.endsWith('/create') ? 201 : status;
    response.writeHead(code, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  }, upgraded);
  return { docker, calls };
}
