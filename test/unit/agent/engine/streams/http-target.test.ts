/** Requests to applications as targets of streams, with a real application. */
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HeadLines } from '../../../../../agent/engine/streams/answer-socket.ts';
import { AppConnections } from '../../../../../agent/engine/streams/app-connections.ts';
import { HttpTarget } from '../../../../../agent/engine/streams/http-target.ts';
import {
  decodeAnswerHead,
  HeadReader,
  isRequestHead,
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

const connections = new AppConnections();
const headOf = (head: Partial<RequestHead>): RequestHead => ({
  ...{ method: 'GET', path: '/head', headers: [['host', 'app']] },
  ...head,
});
/** What the application gets first. */
const begun = (port: number, head: Partial<RequestHead> = {}, place: object = {}): HttpTarget =>
  new HttpTarget(
    connections,
    { container: 'one', client: 1, host: '127.0.0.1', port, ...place },
    headOf(head),
  );
/** What the application gets, and then no more. */
function requested(...args: Parameters<typeof begun>): HttpTarget {
  const target = begun(...args);
  target.end();
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

test('P275: a request has a head and a body, and so has its answer', async () => {
  const target = begun(app.port, { method: 'POST', path: '/echo', chunked: true });
  await target.write(Buffer.from('bo'));
  await target.write(Buffer.from('dy'));
  target.end();
  expect(await answerOf(target)).toMatchObject({ head: { status: 200 }, text: 'body' });
});
test('P275: a head that is too long, or not of a request, is none', () => {
  for (const bad of [
    { method: 'CONNECT' },
    { path: 'x' },
    { path: '/ HTTP/1.1' },
    { headers: [['a', 'b\r\nc: d']] },
    { headers: [['a', 'b'.repeat(MAX_HEAD_BYTES)]] },
  ])
    expect([bad, isRequestHead(headOf(bad as never))]).toEqual([bad, false]);
  expect(isRequestHead(headOf({}))).toBe(true);
});
test('P276: requests of one client share a connection, and no others do, nor requests that may not be sent twice', async () => {
  const socketsOf = async (...targets: (() => HttpTarget)[]) => {
    for (const target of targets) {
      const asked = target();
      await answerOf(asked);
      asked.destroy();
    }
    return app.requests.splice(0).map(({ socket }) => socket);
  };
  const one = () => requested(app.port);
  const [first, second] = await socketsOf(one, one);
  expect(second === first).toBe(true);
  const others = await socketsOf(
    () => requested(app.port, {}, { client: 2 }),
    () => requested(app.port, {}, { container: 'two' }),
    () => requested(app.port, { method: 'POST', path: '/count', headers: [['content-length', '0']] }),
    () => requested(app.port, { method: 'DELETE' }),
  );
  expect(new Set([first, ...others]).size).toBe(5);
  expect((await socketsOf(one))[0] === first).toBe(true);
});
test('P276: a connection that the application closes just when it is used again costs no request', async () => {
  let connected = 0;
  const port = await serving(
    createServer((socket) => {
      connected += 1;
      socket.on('error', () => {});
      let isUsed = false;
      socket.on('data', () => {
        if (isUsed) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
        isUsed = true;
      });
    }),
  );
  for (let n = 0; n < 3; n++) {
    const target = requested(port);
    expect(await answerOf(target)).toMatchObject({ head: { status: 200 }, text: 'ok' });
    target.destroy();
  }
  expect(connected).toBe(3);
});
test('P275: a short answer is one piece, after which nothing follows', async () => {
  const pieces = [];
  for await (const piece of requested(app.port).output) pieces.push(piece);
  expect(pieces).toMatchObject([{ isLast: true }]);
});
test('P300: an application that gives informational answers without end gets no further', async () => {
  for (const [count, head] of [
    [100, { status: 200 }],
    [101, { problem: expect.stringMatching(/^port \d+: the application gives no answer but informational/) }],
  ] as const) {
    const target = requested(app.port, { path: `/processing?n=${count}` });
    expect((await answerOf(target)).head).toMatchObject(head);
  }
});
test('P276: headers of one connection end here, redirects are not followed, and nothing is decompressed', async () => {
  const hop = { connection: 'x-hop', 'x-hop': '1', te: 'trailers', 'transfer-encoding': 'chunked' };
  const headers = Object.entries({ host: 'app', ...hop });
  const { head } = await answerOf(requested(app.port, { path: '/status?n=302', headers }));
  expect(head).toMatchObject({ status: 302 });
  expect(JSON.stringify(head)).toMatch(/location.*content-encoding/);
  expect(JSON.stringify(head)).not.toMatch(/x-hop|"connection|keep-alive|proxy/);
  expect(app.requests[0]?.headers).toEqual({ host: 'app', connection: 'keep-alive' });
});
test('P276: what keeps an application from answering is named', async () => {
  const closed = await startAppServer();
  await closed.close();
  for (const [address, port, problem] of [
    ['127.0.0.1', closed.port, 'nothing listens there'],
    ['', app.port, 'no address of its own'],
  ] as const) {
    const { head } = await answerOf(begun(port, {}, { host: address }));
    expect(head).toMatchObject({ problem: expect.stringContaining(problem) });
  }
  const target = begun(app.port, { path: '/holds' });
  (await eventually(() => app.held[0]))?.socket?.destroy();
  expect((await answerOf(target)).head).toMatchObject({
    problem: expect.stringContaining('without an answer'),
  });
});
test('P277: only a request for a WebSocket may become one', async () => {
  const port = await answering('HTTP/1.1 101 X\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
  const problem = expect.stringContaining('another protocol unasked');
  expect((await answerOf(requested(port))).head).toMatchObject({ problem });
});
test('P278: an answer that breaks off is an error, and a request that is given up ends at the application', async () => {
  await expect(answerOf(requested(app.port, { path: '/broken' }))).rejects.toThrow('broke off its answer');
  const other = begun(app.port, { path: '/holds' });
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
      const { head: answer, text } = await answerOf(requested(await answering(...pieces)));
      const sent = (answer as { headers: string[][] }).headers;
      expect([sent.map(([name, value]) => [name?.toLowerCase(), value]), text]).toEqual([headers, body]);
    }
});
test('P327: a return that no line feed follows, and another character that no head has, are no end of a line', async () => {
  for (const head of ['HTTP/1.1 200 OK\nX-A: 1\rSet-Cookie: a=b\n\n', 'HTTP/1.1 200 OK\nX-A: \0\n\n']) {
    const answer = await answerOf(requested(await answering(head)));
    const problem = expect.stringContaining('does not speak HTTP');
    expect(answer.head).toMatchObject({ problem });
  }
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
