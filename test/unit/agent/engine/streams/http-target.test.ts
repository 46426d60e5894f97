/** Requests to applications as targets of streams, with a real application. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { HeadLines } from '../../../../../agent/engine/streams/answer-socket.ts';
import { HttpTarget } from '../../../../../agent/engine/streams/http-target.ts';
import {
  decodeAnswerHead,
  encodeRequestHead,
  HeadReader,
  MAX_HEAD_BYTES,
  type RequestHead,
} from '../../../../../shared/streams/app-heads.ts';
import { type AppServer, startAppServer } from '../../../../support/apps/app-server.ts';
import { eventually } from '../../../../support/tools/eventually.ts';
import { serving } from '../../../../support/tools/serving.ts';

let app: AppServer;
beforeEach(async () => {
  app = await startAppServer();
});
afterEach(() => app.close());

const bytesOf = (head: Partial<RequestHead>): Uint8Array => {
  const bytes = encodeRequestHead({ method: 'GET', path: '/head', headers: [['host', 'app']], ...head });
  if (!bytes) throw new Error('the head is not valid');
  return bytes;
};
/** What the application gets, and then no more. */
async function requested(port: number, head: Partial<RequestHead> = {}): Promise<HttpTarget> {
  const target = await begun(port, head);
  target.end();
  return target;
}
/** What the application gets first. */
async function begun(port: number, head: Partial<RequestHead> = {}, host = '127.0.0.1'): Promise<HttpTarget> {
  const target = new HttpTarget(host, port);
  await target.write(bytesOf(head));
  return target;
}
/** The head of the answer, and the text after it. */
async function answerOf(target: HttpTarget) {
  const reader = new HeadReader();
  let head: ReturnType<typeof decodeAnswerHead>;
  let text = '';
  for await (const { bytes } of target.output) {
    const read = head ? { text: '', rest: bytes } : reader.push(bytes);
    if (!read) continue;
    head ??= decodeAnswerHead(read.text);
    text += Buffer.from(read.rest).toString();
  }
  return { head, text };
}

test('P275: a request comes in pieces of any size, and its answer is a head and a body', async () => {
  const target = new HttpTarget('127.0.0.1', app.port);
  const head = bytesOf({ method: 'POST', path: '/echo', chunked: true });
  for (const byte of head) await target.write(Uint8Array.of(byte));
  await target.write(Buffer.from('body'));
  target.end();
  expect(await answerOf(target)).toMatchObject({ head: { status: 200 }, text: 'body' });
});
test('P275: a head that is too long, not JSON, or not a request is refused', async () => {
  const long = new Uint8Array(8);
  new DataView(long.buffer).setUint32(0, MAX_HEAD_BYTES + 1);
  for (const bytes of [long, Uint8Array.of(0, 0, 0, 2, 0x7b, 0x7b), Uint8Array.of(0, 0, 0, 2, 0x7b, 0x7d)]) {
    const target = new HttpTarget('127.0.0.1', app.port);
    await target.write(bytes);
    expect((await answerOf(target)).head).toMatchObject({ problem: expect.any(String) });
  }
  for (const bad of [
    { method: 'CONNECT' },
    { path: 'x' },
    { path: '/ HTTP/1.1' },
    { headers: [['a', 'b\r\nc: d']] },
  ])
    expect(() => bytesOf(bad as never)).toThrow('not valid');
  expect(app.requests).toEqual([]);
});
test('P300: an application that gives informational answers without end gets no further', async () => {
  for (const [count, head] of [
    [100, { status: 200 }],
    [101, { problem: expect.stringMatching(/^port \d+: the application gives no answer but informational/) }],
  ] as const) {
    const target = await requested(app.port, { path: `/processing?n=${count}` });
    expect((await answerOf(target)).head).toMatchObject(head);
  }
});
test('P275: a request that ends before its head, or that was given up, never reaches the application', async () => {
  const target = new HttpTarget('127.0.0.1', app.port);
  target.end();
  expect((await answerOf(target)).head).toEqual({ problem: 'the request has no head' });
  const other = new HttpTarget('127.0.0.1', app.port);
  other.destroy();
  await other.write(bytesOf({}));
  expect((await answerOf(other)).head).toEqual({ problem: 'the request was given up' });
  expect(app.requests).toEqual([]);
});
test('P276: headers of one connection end here, redirects are not followed, and nothing is decompressed', async () => {
  const hop = { connection: 'x-hop', 'x-hop': '1', te: 'trailers', 'transfer-encoding': 'chunked' };
  const headers = Object.entries({ host: 'app', ...hop });
  const { head } = await answerOf(await requested(app.port, { path: '/status?n=302', headers }));
  expect(head).toMatchObject({ status: 302 });
  expect(JSON.stringify(head)).toMatch(/location.*content-encoding/);
  expect(JSON.stringify(head)).not.toMatch(/x-hop|"connection|keep-alive|proxy/);
  expect(app.requests[0]?.headers).toEqual({ host: 'app', connection: 'close' });
});
test('P276: what keeps an application from answering is named', async () => {
  const closed = await startAppServer();
  await closed.close();
  for (const [address, port, problem] of [
    ['127.0.0.1', closed.port, 'nothing listens there'],
    ['', app.port, 'no address of its own'],
  ] as const) {
    const { head } = await answerOf(await begun(port, {}, address));
    expect(head).toMatchObject({ problem: expect.stringContaining(problem) });
  }
  const target = await begun(app.port, { path: '/holds' });
  (await eventually(() => app.held[0]))?.socket?.destroy();
  expect((await answerOf(target)).head).toMatchObject({
    problem: expect.stringContaining('without an answer'),
  });
});
test('P277: only a request for a WebSocket may become one', async () => {
  const asked = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' };
  const headers = Object.entries({ host: 'app', ...asked });
  const target = await begun(app.port, { path: '/', headers, upgrade: true });
  const answer = answerOf(target);
  const socket = await eventually(() => app.sockets[0]);
  const heard = once(socket as WebSocket, 'message');
  // A masked text frame, with a mask of zeros.
  await target.write(Uint8Array.of(0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69));
  await heard;
  socket?.close(1000);
  target.end();
  expect(await answer).toMatchObject({ head: { status: 101 }, text: expect.stringContaining('hi') });
});
test('P278: an answer that breaks off is an error, and a request that is given up ends at the application', async () => {
  await expect(answerOf(await requested(app.port, { path: '/broken' }))).rejects.toThrow(
    'broke off its answer',
  );
  const other = await begun(app.port, { path: '/holds' });
  await eventually(() => app.held[0]);
  other.destroy();
  await eventually(() => app.aborted.includes('/holds'));
});

/** The port of an application that answers each request with these pieces, and ends. */
async function answering(...pieces: string[]): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', async () => {
      for (const piece of pieces) await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
      socket.end();
    });
  });
  return serving(server);
}

test('P327: lines of a head may end in a bare line feed, and the body stays as it is', async () => {
  const body = 'a\nb\r\nc\n\n';
  const headers = Object.entries({ 'x-a': '1', 'content-length': String(body.length) });
  const length = `Content-Length: ${body.length}`;
  for (const head of [
    `HTTP/1.1 200 OK\nX-A: 1\n${length}\n\n`,
    `HTTP/1.1 200 OK\r\nX-A: 1\n${length}\r\n\n`,
    `HTTP/1.1 200 OK\nX-A: 1\r\n${length}\n\r\n`,
    `\nHTTP/1.1 103 Early Hints\nX-Hint: 1\n\nHTTP/1.1 200 OK\nX-A: 1\n${length}\n\n`,
  ])
    for (const pieces of [[head + body], [...(head + body)]]) {
      const { head: answer, text } = await answerOf(await requested(await answering(...pieces)));
      const sent = (answer as { headers: string[][] }).headers;
      expect([sent.map(([name, value]) => [name?.toLowerCase(), value]), text]).toEqual([headers, body]);
    }
});
test('P327: a return that no line feed follows, and another character that no head has, are no end of a line', async () => {
  for (const head of ['HTTP/1.1 200 OK\nX-A: 1\rSet-Cookie: a=b\n\n', 'HTTP/1.1 200 OK\nX-A: \0\n\n']) {
    const answer = await answerOf(await requested(await answering(head)));
    const problem = expect.stringContaining('does not speak HTTP');
    expect(answer.head).toMatchObject({ problem });
  }
});
test('P327: an upgraded connection carries each byte as it is', async () => {
  const frames = '\x81\x03a\nb\n\n';
  const head = 'HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: websocket\n\n';
  const target = await requested(await answering(head + frames, '\n'), { upgrade: true });
  const reader = new HeadReader();
  const got: Buffer[] = [];
  for await (const { bytes } of target.output) got.push(Buffer.from(bytes));
  const read = reader.push(Buffer.concat(got));
  expect(decodeAnswerHead(read?.text ?? '')).toMatchObject({ status: 101 });
  expect(Buffer.from(read?.rest ?? []).toString('latin1')).toBe(`${frames}\n`);
});
test('P327: a line ends as it did wherever it is cut', () => {
  const text = 'HTTP/1.1 100 Continue\r\n\nHTTP/1.1 200 OK\nA: b\r\n\r\nbody\n';
  const whole = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\n';
  for (let cut = 0; cut <= text.length; cut += 1) {
    const lines = new HeadLines();
    const parts = [text.slice(0, cut), text.slice(cut)].map((part) => lines.normalise(Buffer.from(part)));
    expect(Buffer.concat(parts).toString()).toBe(whole);
  }
});
