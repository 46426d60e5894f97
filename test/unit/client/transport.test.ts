import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { Berth } from '../../../client/berth.ts';

/** What a client reports of a server that answers everything like this. */
async function errorFrom(answer: (response: ServerResponse) => void, scheme = 'http'): Promise<string> {
  const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const message = await new Berth(origin).info().then(String, ({ message }: Error) => message);
  server.closeAllConnections();
  server.close();
  return message.replaceAll(origin, 'ORIGIN');
}

const HTML = { 'content-type': 'text/html' };

test('L192: the answer of a proxy, of a server that is not Berth or of one without TLS is named as such, with its address', async () => {
  const page = '<html><body>Welcome</body></html>';
  expect(await errorFrom((response) => response.writeHead(200, HTML).end(page))).toBe(
    'ORIGIN answers with 200 OK, and not as Berth does. Is this the address of a control plane?',
  );
  expect(await errorFrom((response) => response.writeHead(502, HTML).end(page))).toBe(
    'ORIGIN answers with 502 Bad Gateway, and not as Berth does. A proxy in front of it may not reach it.',
  );
  const location = 'https://sso.example.org/';
  expect(await errorFrom((response) => response.writeHead(302, { location }).end())).toBe(
    'ORIGIN answers with 302 Found, and leads to https://sso.example.org/. Is this the address of a control plane?',
  );
  const message = 'The database is away.';
  const answer = JSON.stringify({ message });
  expect(await errorFrom((response) => response.writeHead(503).end(answer))).toBe(message);
  expect(await errorFrom((response) => response.end(), 'https')).toBe(
    "ORIGIN can't be reached: the server there has no TLS; for one without, use http:// and not https://",
  );
});
