/**
 * An image registry without images, for tests of failing pulls. It listens on loopback, where engines accept
 * plain HTTP.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Registry {
  /** `address:port`. */
  host: string;
  /** The name of an image in this registry. */
  image: string;
  /** Number of requests so far. */
  requestCount(): number;
  close(): void;
}

/** `missing`: answers that the image does not exist; `stalls`: accepts requests and never answers. */
export async function startRegistry(behaviour: 'missing' | 'stalls'): Promise<Registry> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    if (behaviour === 'missing') answer(request.url ?? '', response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  const host = `127.0.0.1:${port}`;
  return { host, image: `${host}/none:1`, requestCount: () => count, close };
}

function answer(path: string, response: ServerResponse): void {
  const isPing = path === '/v2/';
  response.writeHead(isPing ? 200 : 404, {
    'content-type': 'application/json',
    'docker-distribution-api-version': 'registry/2.0',
  });
  response.end(isPing ? '{}' : '{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
}
