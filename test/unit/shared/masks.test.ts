import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { maskOptions } from '../../../shared/streams/masks.ts';

const TEXT = 'GET / HTTP/1.1';

test.each([
  'ws://10.0.0.1:8080',
  'http://berth.example.org',
  'ws://[2001:db8::1]',
  'ws://127.0.0.1.example.org',
])('P302: %s gets masked bytes, since somebody between may take them for HTTP', async (url) => {
  const sent = await bytesSentWith(maskOptions(new URL(url)));
  expect(sent.length).toBe(6 + TEXT.length);
  expect(sent.toString('latin1')).not.toContain(TEXT);
});

test.each([
  'wss://berth.example.org',
  'https://10.0.0.1',
  'ws://127.0.0.1:8080',
  'http://localhost',
  'ws://[::1]:1',
])('P302: %s gets the bytes as they are, with the zero key', async (url) => {
  const sent = await bytesSentWith(maskOptions(new URL(url)));
  expect([...sent.subarray(1, 6)]).toEqual([0x80 | TEXT.length, 0, 0, 0, 0]);
  expect(sent.toString('latin1', 6)).toBe(TEXT);
});

/** The frame of TEXT on its connection. */
async function bytesSentWith(options: object): Promise<Buffer> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false, ...options });
  const [, { socket }] = await accepted;
  const sent = new Promise<Buffer>((done) =>
    socket.prependOnceListener('data', (bytes: Buffer) => done(Buffer.from(bytes))),
  );
  if (client.readyState !== WebSocket.OPEN) await once(client, 'open');
  client.send(TEXT);
  const bytes = await sent;
  client.terminate();
  server.close();
  return bytes;
}
