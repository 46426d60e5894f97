import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { MAX_CHUNKS } from '../../../control-plane/guard/body-chunks.ts';
import { answerOn, dial } from '../../support/clients/raw-http.ts';
import { ServerRig } from '../../support/rigs/server-rig.ts';

let rig: ServerRig;
afterEach(() => rig.close());

/** Starts a server with this app; returns its URL. */
async function start(serve: (request: Request) => Promise<Response>): Promise<string> {
  rig = await ServerRig.start({ serve });
  return rig.url;
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
  const answer = Promise.withResolvers<Response>();
  const url = await start(() => answer.promise);
  const socket = dial(url, `GET / HTTP/1.1\r\nHost: berth\r\n\r\n${head}${chunked(letters(MAX_CHUNKS))}`);
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  await once(socket, 'close');
  expect(received).toBe('');
  answer.resolve(new Response('late'));
});
