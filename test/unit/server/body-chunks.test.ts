import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { MAX_CHUNKS } from '../../../control-plane/server/body-chunks.ts';
import { httpServer } from '../../../control-plane/server/node-server.ts';
import { answerOn, dial } from '../../support/clients/raw-http.ts';
import { WIDE_LIMITS } from '../../support/fixtures/connection-limits.ts';

let server: Server;

afterEach(() => {
  server.closeAllConnections();
  return new Promise((done) => server.close(done));
});

/** Starts a server with this app; returns its URL. */
async function start(app: (request: Request) => Promise<Response>): Promise<string> {
  ({ server } = httpServer(app, {
    variant: variants.B,
    isUpgrade: () => false,
    connectionLimits: WIDE_LIMITS,
    trustsProxy: false,
    log: () => {},
  }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const head = 'POST / HTTP/1.1\r\nHost: berth\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunked = (parts: readonly string[]) =>
  `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;
const letters = (count: number) => Array.from({ length: count }, (_, n) => 'abc'.charAt(n % 3));

test('H381: small chunks reach the app in few parts, and in order with large ones', async () => {
  let parts = 0;
  const url = await start(async (request) => {
    const texts: string[] = [];
    for await (const part of request.body ?? []) {
      parts += 1;
      texts.push(Buffer.from(part).toString());
    }
    return new Response(texts.join(''));
  });
  const sent = [...letters(4_000), 'd'.repeat(5_000), ...letters(4_000), 'e'.repeat(300_000), 'f'];
  const reply = await answerOn(dial(url, head + chunked(sent)));
  expect(reply.status).toBe(200);
  expect(reply.body === sent.join('')).toBe(true);
  expect(parts).toBeLessThan(100);
});

test('H381: a body of as many chunks as are allowed arrives, and one of more is 413', async () => {
  const url = await start(async (request) => new Response(await request.text()));
  // The end counts as one.
  const most = letters(MAX_CHUNKS - 1);
  expect((await answerOn(dial(url, head + chunked(most)))).body).toBe(most.join(''));
  const reply = await answerOn(dial(url, head + chunked(letters(MAX_CHUNKS))));
  expect(reply.status).toBe(413);
  expect(JSON.parse(reply.body)).toEqual({
    code: 'too-large',
    message: 'The body has more than 10000 chunks: send larger ones.',
  });
});

test('H381: the refusal of a body is never written in place of the answer to an earlier request', async () => {
  let answer = () => {};
  const url = await start(async () => {
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return new Response('late');
  });
  const socket = dial(url, `GET / HTTP/1.1\r\nHost: berth\r\n\r\n${head}${chunked(letters(MAX_CHUNKS))}`);
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  await once(socket, 'close');
  expect(received).toBe('');
  answer();
});
